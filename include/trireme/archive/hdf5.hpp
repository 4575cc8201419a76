// Handles and errors of HDF5. The result of every HDF5 call goes through check_hdf5(), and every HDF5
// identifier has one owner.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "trireme/base/error.hpp"

namespace trireme::archive::hdf5 {

// Stops HDF5 from printing its error stack; check_hdf5() reports one sentence instead.
void silence_errors();

// Returns the innermost description on HDF5's error stack, or only the operating system's message if the
// description quotes one. Returns an empty string if the stack is empty.
std::string find_error_reason();

// HDF5's types hid_t and herr_t, repeated here because only src/archive includes HDF5's header.
using Id = std::int64_t;
using Status = int;
constexpr Id no_id = -1;

// Returns the result of an HDF5 call unchanged, or throws Failure if the result is negative. In the message,
// `what` says what failed and `advice` what the user should do.
template <class Failure = ResourceError, class Result>
Result check_hdf5(Result result, std::string_view what, std::string_view advice,
                  SourcePosition where = SourcePosition::here()) {
    if (result < 0) throw Failure(cat(what, ": HDF5 says \"", find_error_reason(), "\"; ", advice), where);
    return result;
}

// Owns one HDF5 identifier and knows the function that closes it.
class Handle {
public:
    using Close = Status (*)(Id);

    Handle() = default;
    Handle(Id id, Close closing) : id_(id), close_(closing) {}
    Handle(Handle&& other) noexcept : id_(std::exchange(other.id_, no_id)), close_(other.close_) {}
    Handle& operator=(Handle&& other) noexcept {
        std::swap(id_, other.id_);
        std::swap(close_, other.close_);
        return *this;
    }
    ~Handle() { close(); }

    Id get() const { return id_; }

    // Closes the identifier and returns HDF5's status, or 0 if nothing was open.
    Status close() { return id_ < 0 ? 0 : close_(std::exchange(id_, no_id)); }

private:
    Id id_ = no_id;
    Close close_ = nullptr;
};

}  // namespace trireme::archive::hdf5
