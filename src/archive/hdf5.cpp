#include "trireme/archive/hdf5.hpp"

#include <hdf5.h>

#include <type_traits>

namespace trireme::archive::hdf5 {

static_assert(std::is_same_v<Id, hid_t> && std::is_same_v<Status, herr_t> && no_id == H5I_INVALID_HID);

namespace {

// Called by H5Ewalk2() for each error on the stack, beginning where the error occurred. The first description
// is therefore the most precise one.
herr_t store_first_description(unsigned, const H5E_error2_t* error, void* first_description) {
    auto& text = *static_cast<std::string*>(first_description);
    if (text.empty() && error->desc != nullptr) text = error->desc;
    return 0;  // continue with the next error
}

// Returns the message of the operating system if HDF5's text contains one ("..., error message = 'No space
// left', ..."), or else the whole text.
std::string find_system_message(const std::string& text) {
    constexpr std::string_view mark = "error message = '";
    const std::size_t begin = text.find(mark);
    if (begin == std::string::npos) return text;
    const std::size_t first = begin + mark.size();
    return text.substr(first, text.find('\'', first) - first);
}

}  // namespace

void silence_errors() { H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr); }

std::string find_error_reason() {
    std::string text;
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, store_first_description, &text);
    return find_system_message(text);
}

}  // namespace trireme::archive::hdf5
