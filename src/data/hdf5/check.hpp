// Handles and errors of HDF5: every call goes through check_hdf5, every identifier has one owner.
#pragma once

#include <hdf5.h>

#include <string>
#include <string_view>
#include <utility>

#include "trireme/base/error.hpp"

namespace trireme::hdf5 {

// HDF5 prints its error stack by itself unless told not to; ours is one sentence instead.
void silence();

// What went wrong at the bottom of HDF5's error stack, in its words; empty when it has none.
std::string reason();

// Passes a result of HDF5 through. A negative one becomes an error: what could not be done, why, what to do
// next.
template <class Failure = ResourceError, class Result>
Result check_hdf5(Result result, std::string_view what, std::string_view next, Where where = Where::here()) {
    if (result < 0) throw Failure(cat(what, ": HDF5 says \"", reason(), "\"; ", next), where);
    return result;
}

// One identifier of HDF5 and the function that closes it.
class Handle {
public:
    using Close = herr_t (*)(hid_t);

    Handle() = default;
    Handle(hid_t id, Close closing) : id_(id), close_(closing) {}
    Handle(Handle&& other) noexcept : id_(std::exchange(other.id_, H5I_INVALID_HID)), close_(other.close_) {}
    Handle& operator=(Handle&& other) noexcept {
        std::swap(id_, other.id_);
        std::swap(close_, other.close_);
        return *this;
    }
    ~Handle() { close(); }

    hid_t get() const { return id_; }

    // The result of HDF5's closing function; 0 when nothing was open.
    herr_t close() { return id_ < 0 ? 0 : close_(std::exchange(id_, H5I_INVALID_HID)); }

private:
    hid_t id_ = H5I_INVALID_HID;
    Close close_ = nullptr;
};

}  // namespace trireme::hdf5
