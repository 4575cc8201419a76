// The GPU interface of a program without CUDA. find_gpus() finds no GPU, so
// no other function is called.
#include "trireme/base/error.hpp"
#include "trireme/device/gpu.hpp"

namespace trireme::device {
namespace {

[[noreturn]] void throw_no_cuda() { throw ResourceError(find_gpus().complaint); }

}  // namespace

GpuSearch find_gpus() {
    return {.gpus = {}, .complaint = "this program was built without CUDA; build it where nvcc is found"};
}

void select_gpu(int /*number*/) { throw_no_cuda(); }
GpuFacts selected_gpu() { throw_no_cuda(); }
std::size_t count_free_gpu_bytes() { throw_no_cuda(); }
std::byte* allocate_gpu_memory(std::size_t /*bytes*/) { throw_no_cuda(); }
void free_gpu_memory(std::byte* /*memory*/) noexcept {}
std::size_t peak_gpu_bytes() { throw_no_cuda(); }
void reset_peak_gpu_bytes() { throw_no_cuda(); }
std::byte* allocate_pinned_memory(std::size_t /*bytes*/) { throw_no_cuda(); }
void free_pinned_memory(std::byte* /*memory*/) noexcept {}
void copy_gpu_rows(void* /*to*/, std::size_t /*to_stride*/, const void* /*from*/, std::size_t /*from_stride*/,
                   std::size_t /*row_bytes*/, std::size_t /*rows*/) {
    throw_no_cuda();
}

void wait_for_gpu(const void* /*memory*/, const WaitPolicy& /*wait_policy*/) { throw_no_cuda(); }
void sum_in_order_on_gpu(Tensor /*own*/, std::size_t /*own_rank*/, ConstTensor /*others*/) { throw_no_cuda(); }

GpuEvent::GpuEvent() { throw_no_cuda(); }
GpuEvent::~GpuEvent() = default;
GpuEvent::GpuEvent(GpuEvent&& /*other*/) noexcept = default;
GpuEvent& GpuEvent::operator=(GpuEvent&& /*other*/) noexcept = default;
bool GpuEvent::is_over() const { throw_no_cuda(); }
double GpuEvent::seconds_since(const GpuEvent& /*earlier*/) const { throw_no_cuda(); }

GpuQueue::GpuQueue() { throw_no_cuda(); }
GpuQueue GpuQueue::make_non_blocking() { throw_no_cuda(); }
GpuQueue::~GpuQueue() = default;
GpuQueue::GpuQueue(GpuQueue&& /*other*/) noexcept = default;
GpuQueue& GpuQueue::operator=(GpuQueue&& /*other*/) noexcept = default;
void GpuQueue::copy(void* /*to*/, const void* /*from*/, std::size_t /*bytes*/) { throw_no_cuda(); }
void GpuQueue::clear(void* /*memory*/, std::size_t /*bytes*/) { throw_no_cuda(); }
void GpuQueue::call(std::function<void()> /*function*/) { throw_no_cuda(); }
void GpuQueue::mark(GpuEvent& /*event*/) { throw_no_cuda(); }
void GpuQueue::wait_for(const GpuEvent& /*event*/) { throw_no_cuda(); }
bool GpuQueue::is_idle() const { throw_no_cuda(); }

}  // namespace trireme::device
