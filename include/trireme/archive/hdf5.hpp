// Handles and errors of HDF5: every call goes through check_hdf5, every identifier has one owner.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "trireme/base/error.hpp"

namespace trireme::archive::hdf5 {

// HDF5 prints its error stack by itself unless told not to; ours is one sentence instead.
void silence();

// What went wrong at the bottom of HDF5's error stack, in its words; empty when it has none.
std::string reason();

// What HDF5 calls hid_t and herr_t; its header stays in this room.
using Id = std::int64_t;
using Status = int;
constexpr Id no_id = -1;

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

    // The result of HDF5's closing function; 0 when nothing was open.
    Status close() { return id_ < 0 ? 0 : close_(std::exchange(id_, no_id)); }

private:
    Id id_ = no_id;
    Close close_ = nullptr;
};

}  // namespace trireme::archive::hdf5
