// Groups that send tensors in the memory of the emulated GPU, over each transport.
#pragma once

#include <gtest/gtest.h>
#include <mpi.h>

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "comm/mpi/mpi_communicator.hpp"
#include "nccl_stand_in/stand_in_library.hpp"
#include "trireme/comm/transport_choice.hpp"
#include "trireme/comm/nccl.hpp"
#include "trireme/comm/progress_engine.hpp"
#include "trireme/device/buffer.hpp"

namespace trireme {

enum class Way : std::uint8_t { staged, nccl };

inline std::string way_of(const ::testing::TestParamInfo<Way>& way) {
    return way.param == Way::staged ? "Staged" : "Nccl";
}

// The objects that groups of GPUs share. A rank has one of each.
struct OwnGpu {
    OwnGpu();

    StandIn stand_in = {};
    device::GpuQueue queue = {};
    comm::ProgressEngine progress_engine = {};  // also makes the emulated GPU progress

    device::WaitPolicy wait_policy(double stall_seconds = 20) const {
        return {.stall_seconds = stall_seconds, .between_polls = progress_engine.between_polls()};
    }
    std::unique_ptr<comm::Communicator> group(Way way, const std::string& name, device::WaitPolicy wait_policy);
    // A group over NCCL with channels for `pairs`. `wait_policy` applies to its channels; the messages over MPI
    // have the default limit.
    std::unique_ptr<comm::Communicator> nccl(const std::string& name, std::vector<comm::RankPair> pairs,
                                             device::WaitPolicy wait_policy);
};

// A vector of elements in GPU memory.
template <class T>
class OnGpu {
public:
    explicit OnGpu(std::size_t elements, T value = {}) : OnGpu(std::vector<T>(elements, value)) {}
    explicit OnGpu(std::vector<T> values)
        : host_(std::move(values)), buffer_(host_.size() * sizeof(T), device::MemorySpace::gpu) {
        device::copy_rows(on_host(), tensor());
    }

    device::Tensor tensor() const {
        return {buffer_.data(), device::to_dtype<T>(), 1, host_.size(), host_.size(), device::MemorySpace::gpu};
    }
    const std::vector<T>& values() {
        device::copy_rows(tensor(), on_host());
        return host_;
    }

private:
    device::Tensor on_host() { return {host_.data(), device::to_dtype<T>(), 1, host_.size(), host_.size()}; }

    std::vector<T> host_;
    device::Buffer buffer_;
};

// Page-locked host memory, which a queue copies to and from asynchronously.
class Pinned {
public:
    explicit Pinned(std::size_t bytes) : memory_(device::allocate_pinned_memory(bytes)), bytes_(bytes) {}
    ~Pinned() { device::free_pinned_memory(memory_); }
    Pinned(const Pinned&) = delete;
    Pinned& operator=(const Pinned&) = delete;

    std::span<float> floats() const { return {reinterpret_cast<float*>(memory_), bytes_ / sizeof(float)}; }
    std::byte* data() const { return memory_; }

private:
    std::byte* memory_;
    std::size_t bytes_;
};

class GpuGroups : public ::testing::TestWithParam<Way> {
protected:
    void TearDown() override;

    OwnGpu gpu_;
    std::unique_ptr<comm::Communicator> group_ = gpu_.group(GetParam(), "test", gpu_.wait_policy());
    int right_ = (group_->rank() + 1) % group_->size();
    int left_ = (group_->rank() + group_->size() - 1) % group_->size();

    void wait(std::initializer_list<comm::Communicator::RequestId> ids) {
        group_->wait(std::vector<comm::Communicator::RequestId>(ids));
    }
};

}  // namespace trireme
