#include "trireme/archive/hdf5.hpp"

#include <hdf5.h>

#include <type_traits>

namespace trireme::archive::hdf5 {

static_assert(std::is_same_v<Id, hid_t> && std::is_same_v<Status, herr_t> && no_id == H5I_INVALID_HID);

namespace {

// H5Ewalk2 upward starts where the error occurred; the first description holds the facts.
herr_t keep_first(unsigned, const H5E_error2_t* error, void* kept) {
    auto& text = *static_cast<std::string*>(kept);
    if (text.empty() && error->desc != nullptr) text = error->desc;
    return 0;
}

// The file driver hides the system's message in a long text: "..., error message = 'No space left', ...".
std::string system_message(const std::string& text) {
    constexpr std::string_view mark = "error message = '";
    const std::size_t begin = text.find(mark);
    if (begin == std::string::npos) return text;
    const std::size_t first = begin + mark.size();
    return text.substr(first, text.find('\'', first) - first);
}

}  // namespace

void silence() { H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr); }

std::string reason() {
    std::string text;
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, keep_first, &text);
    return system_message(text);
}

}  // namespace trireme::archive::hdf5
