// Handles and errors of HDF5. Every call goes through check_hdf5, and every identifier has one owner.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "trireme/base/error.hpp"

namespace trireme::archive::hdf5 {

// Stops HDF5 from printing its error stack; check_hdf5 reports one sentence instead.
void silence();

// Returns the innermost description of HDF5's error stack, or an empty string if there is none.
std::string reason();

// HDF5's types hid_t and herr_t. Only this room includes HDF5's header.
using Id = std::int64_t;
using Status = int;
constexpr Id no_id = -1;

// Returns a result of HDF5 unchanged. Throws Failure if it is negative: `what` names what failed and `next`
// what the user should do.
template <class Failure = ResourceError, class Result>
Result check_hdf5(Result result, std::string_view what, std::string_view next, Where where = Where::here()) {
    if (result < 0) throw Failure(cat(what, ": HDF5 says \"", reason(), "\"; ", next), where);
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

    // Returns the result of HDF5's closing function, or 0 if nothing was open.
    Status close() { return id_ < 0 ? 0 : close_(std::exchange(id_, no_id)); }

private:
    Id id_ = no_id;
    Close close_ = nullptr;
};

}  // namespace trireme::archive::hdf5
