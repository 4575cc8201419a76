// The GPU interface of a program without CUDA. find_gpus() finds none, so nothing else is called.
#include "trireme/base/error.hpp"
#include "trireme/device/gpu.hpp"

namespace trireme::device {
namespace {

[[noreturn]] void complain() { throw ResourceError(find_gpus().complaint); }

}  // namespace

GpuSearch find_gpus() {
    return {.gpus = {}, .complaint = "this program was built without CUDA; build it where nvcc is found"};
}

void use_gpu(int /*number*/) { complain(); }
GpuFacts gpu_in_use() { complain(); }
std::size_t free_gpu_memory() { complain(); }
std::byte* take_gpu_memory(std::size_t /*bytes*/) { complain(); }
void give_back_gpu_memory(std::byte* /*memory*/) noexcept {}
std::size_t most_gpu_memory() { complain(); }
void forget_most_gpu_memory() { complain(); }
std::byte* take_pinned_memory(std::size_t /*bytes*/) { complain(); }
void give_back_pinned_memory(std::byte* /*memory*/) noexcept {}
void copy_gpu_rows(void* /*to*/, std::size_t /*to_stride*/, const void* /*from*/, std::size_t /*from_stride*/,
                   std::size_t /*row_bytes*/, std::size_t /*rows*/) {
    complain();
}

void wait_for_gpu(const void* /*memory*/, const Patience& /*patience*/) { complain(); }
void sum_in_order_on_gpu(Tensor /*own*/, std::size_t /*self*/, ConstTensor /*others*/) { complain(); }

GpuMoment::GpuMoment() { complain(); }
GpuMoment::~GpuMoment() = default;
GpuMoment::GpuMoment(GpuMoment&& /*other*/) noexcept = default;
GpuMoment& GpuMoment::operator=(GpuMoment&& /*other*/) noexcept = default;
bool GpuMoment::is_over() const { complain(); }
double GpuMoment::seconds_since(const GpuMoment& /*earlier*/) const { complain(); }

GpuQueue::GpuQueue() { complain(); }
GpuQueue GpuQueue::alone() { complain(); }
GpuQueue::~GpuQueue() = default;
GpuQueue::GpuQueue(GpuQueue&& /*other*/) noexcept = default;
GpuQueue& GpuQueue::operator=(GpuQueue&& /*other*/) noexcept = default;
void GpuQueue::copy(void* /*to*/, const void* /*from*/, std::size_t /*bytes*/) { complain(); }
void GpuQueue::clear(void* /*memory*/, std::size_t /*bytes*/) { complain(); }
void GpuQueue::mark(GpuMoment& /*moment*/) { complain(); }
void GpuQueue::wait_for(const GpuMoment& /*moment*/) { complain(); }
bool GpuQueue::is_idle() const { complain(); }

}  // namespace trireme::device
