// The GPU of a rank. Depending on what the program is linked with, it is a CUDA GPU, an emulated GPU for
// tests, or none.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "trireme/device/tensor.hpp"
#include "trireme/device/wait.hpp"

namespace trireme::device {

struct GpuFacts {
    int number = 0;                // CUDA device number
    std::string name = {};         // for example "NVIDIA H200"
    std::string bus_id = {};       // for example "0000:1B:00.0"; unique on its host
    int capability = 0;            // compute capability, for example 90 for 9.0
    std::size_t memory_bytes = 0;  // total
    int multiprocessors = 0;
    std::size_t shared_memory_bytes = 0;  // maximum per block
};

// All GPUs that this process may use, or the reason why there are none.
struct GpuSearch {
    std::vector<GpuFacts> gpus = {};
    std::string complaint = {};  // for example "this program was built without CUDA"; empty if there are GPUs
};
GpuSearch find_gpus();

// Selects the GPU that later calls of the calling thread use. Throws ResourceError if the GPU does not start.
void select_gpu(int number);

// Return the facts and the free memory of the selected GPU. In a thread that has not called select_gpu(),
// the first GPU is selected.
GpuFacts selected_gpu();
std::size_t count_free_gpu_bytes();  // bytes

// Allocates zeroed GPU memory. Throws ResourceError if out of memory.
std::byte* allocate_gpu_memory(std::size_t bytes);
void free_gpu_memory(std::byte* memory) noexcept;
std::size_t peak_gpu_bytes();  // maximum of the allocated bytes since the last reset
void reset_peak_gpu_bytes();   // sets the peak to the bytes that are allocated now

// Allocate and free pinned host memory, which the GPU reads and writes by itself.
std::byte* allocate_pinned_memory(std::size_t bytes);
void free_pinned_memory(std::byte* memory) noexcept;

// Copies `rows` rows of `row_bytes` bytes between GPU and host memory, or within GPU memory. Strides are in
// bytes. The copy runs after all work that this process has queued on the GPU, except work in non-blocking
// queues (see GpuQueue), and is complete on return. Thread-safe.
void copy_gpu_rows(void* to, std::size_t to_stride, const void* from, std::size_t from_stride,
                   std::size_t row_bytes, std::size_t rows);

// Waits until the GPU that owns `memory` has finished all work of this process, except work in non-blocking
// queues. Called before copy_gpu_rows(), because a copy has no time limit and would wait forever for a GPU that
// hangs. Thread-safe.
void wait_for_gpu(const void* memory, const WaitPolicy& wait_policy);

// sum_in_order() of buffer.hpp for tensors in GPU memory.
void sum_in_order_on_gpu(Tensor own, std::size_t own_rank, ConstTensor others);

// A CUDA event: marks a point in the work of a queue, and is over when the work before that point has ended.
class GpuEvent {
public:
    GpuEvent();
    ~GpuEvent();
    GpuEvent(GpuEvent&& other) noexcept;
    GpuEvent& operator=(GpuEvent&& other) noexcept;

    bool is_over() const;                                 // also true if the event was never recorded
    double seconds_since(const GpuEvent& earlier) const;  // both events must be over

    void* native() const { return event_; }  // cudaEvent_t

private:
    friend class GpuQueue;
    void* event_ = nullptr;
};

// A queue of asynchronous work that the GPU executes in order: a CUDA stream.
class GpuQueue {
public:
    GpuQueue();
    // Makes a non-blocking stream: copy_gpu_rows(), wait_for_gpu() and sum_in_order_on_gpu() do not wait for
    // work in this queue.
    static GpuQueue make_non_blocking();
    ~GpuQueue();
    GpuQueue(GpuQueue&& other) noexcept;
    GpuQueue& operator=(GpuQueue&& other) noexcept;

    // Copies between GPU memory and pinned memory, or within GPU memory.
    void copy(void* to, const void* from, std::size_t bytes);
    void clear(void* memory, std::size_t bytes);  // sets the bytes to 0

    // Calls `function` in a thread of the driver after all queued work; later work begins when it has returned.
    // It must neither block, nor throw, nor use the GPU.
    void call(std::function<void()> function);

    void mark(GpuEvent& event);            // records the event after all queued work
    void wait_for(const GpuEvent& event);  // work that is queued later begins after the event

    // Block the calling thread until the queue is empty, or until the event is over. Throw ResourceError if the
    // GPU failed, or if the wait takes longer than the wait policy allows.
    void wait() const;
    void wait_until_over(const GpuEvent& event) const;
    void set_wait_policy(const WaitPolicy& wait_policy) { wait_policy_ = wait_policy; }
    const WaitPolicy& wait_policy() const { return wait_policy_; }
    bool is_idle() const;

    void* native() const { return stream_; }  // cudaStream_t

private:
    explicit GpuQueue(void* stream) : stream_(stream) {}

    void* stream_ = nullptr;
    WaitPolicy wait_policy_ = {};
};

// The launch configuration of a kernel.
struct GpuGrid {
    unsigned blocks_x = 1;
    unsigned blocks_y = 1;
    unsigned blocks_z = 1;
    unsigned threads = 256;  // per block
    std::size_t shared_bytes = 0;
};

// Launches a kernel. `arguments` are the addresses of its arguments, as in cudaLaunchKernel.
void launch_kernel(GpuQueue& queue, const GpuGrid& grid, const void* kernel, void** arguments);

// Returns the peak flops per second of dense matmuls, from the data sheet of the GPU; empty if the data sheet
// is not known here. For bf16 and f64, this is the peak of tensor cores, if the GPU has tensor cores for the
// type. For f32, this is the peak without rounding to shorter types (TF32).
std::optional<double> find_peak_flops_per_second(const std::string& gpu_name, DType dtype);

}  // namespace trireme::device
