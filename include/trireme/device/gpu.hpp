// The GPU of a rank. Depending on what the program is linked
// with, it is a CUDA GPU, an emulated one for tests, or none.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "trireme/device/tensor.hpp"
#include "trireme/device/wait.hpp"

namespace trireme::device {

struct GpuFacts {
    int number = 0;
    std::string name = {};                // "NVIDIA H200"
    std::string bus_id = {};              // "0000:1B:00.0"; unique on its host
    int capability = 0;                   // compute capability: 90 for 9.0
    std::size_t memory_bytes = 0;         // total
    int processors = 0;                   // multiprocessors
    std::size_t shared_memory_bytes = 0;  // maximum per block
};

// All GPUs that this process may use, or why there are none.
struct GpuSearch {
    std::vector<GpuFacts> gpus = {};
    std::string complaint = {};  // "this program was built without CUDA"; empty if there are GPUs
};
GpuSearch find_gpus();

// Selects the GPU that all later calls use. Throws ResourceError if it does not start.
void use_gpu(int number);

// Facts and free memory of the selected GPU; the first one if use_gpu() was not called.
GpuFacts gpu_in_use();
std::size_t free_gpu_memory();  // bytes

// Allocates zeroed GPU memory. Throws ResourceError if out of memory.
std::byte* take_gpu_memory(std::size_t bytes);
void give_back_gpu_memory(std::byte* memory) noexcept;
std::size_t most_gpu_memory();  // peak of the bytes that this process has allocated
void forget_most_gpu_memory();  // resets the peak to what is allocated now

// Pinned host memory, which the GPU reads and writes by itself.
std::byte* take_pinned_memory(std::size_t bytes);
void give_back_pinned_memory(std::byte* memory) noexcept;

// Copies `rows` rows of `row_bytes` bytes between GPU and host memory, or within either. Strides are in bytes.
// The copy runs after all work that this process has queued on the GPU, and is complete on return. Thread-safe.
void copy_gpu_rows(void* to, std::size_t to_stride, const void* from, std::size_t from_stride,
                   std::size_t row_bytes, std::size_t rows);

// Waits until the GPU that owns `memory` has finished all work of this process. Call it before copy_gpu_rows(),
// which would wait forever for a GPU that hangs. Thread-safe.
void wait_for_gpu(const void* memory, const Patience& patience);

// Does what sum_in_order() does, for tensors in GPU memory.
void sum_in_order_on_gpu(Tensor own, std::size_t self, ConstTensor others);

// A moment in the work of a queue: a CUDA event.
class GpuMoment {
public:
    GpuMoment();
    ~GpuMoment();
    GpuMoment(GpuMoment&& other) noexcept;
    GpuMoment& operator=(GpuMoment&& other) noexcept;

    bool is_over() const;                                  // also true if never marked
    double seconds_since(const GpuMoment& earlier) const;  // both must be over

    void* native() const { return event_; }  // the library's own handle

private:
    friend class GpuQueue;
    void* event_ = nullptr;
};

// A queue of asynchronous work that the GPU executes in order: a CUDA stream.
class GpuQueue {
public:
    GpuQueue();
    static GpuQueue alone();  // a queue that copy_gpu_rows() and sum_in_order_on_gpu() do not wait for
    ~GpuQueue();
    GpuQueue(GpuQueue&& other) noexcept;
    GpuQueue& operator=(GpuQueue&& other) noexcept;

    // Copies between GPU memory and pinned memory, or within GPU memory.
    void copy(void* to, const void* from, std::size_t bytes);
    void clear(void* memory, std::size_t bytes);

    void mark(GpuMoment& moment);            // sets the moment after all queued work
    void wait_for(const GpuMoment& moment);  // work that is queued later begins after the moment

    // Block the calling thread until the queue is empty, or until the moment is over. Throw ResourceError if
    // the GPU failed, or if the wait exceeds the patience.
    void wait() const;
    void wait_until_over(const GpuMoment& moment) const;
    void have_patience(const Patience& patience) { patience_ = patience; }
    bool is_idle() const;

    void* native() const { return stream_; }  // the library's own handle

private:
    explicit GpuQueue(void* stream) : stream_(stream) {}

    void* stream_ = nullptr;
    Patience patience_ = {};
};

// The launch configuration of a kernel.
struct GpuGrid {
    unsigned blocks_x = 1;
    unsigned blocks_y = 1;
    unsigned blocks_z = 1;
    unsigned threads = 256;  // per block
    std::size_t shared_bytes = 0;
};

// Queues a kernel. `arguments` are the addresses of its arguments, as in cudaLaunchKernel.
void start_kernel(GpuQueue& queue, const GpuGrid& grid, const void* kernel, void** arguments);

// Peak flops per second of dense matmuls, from the data sheet: bf16 on tensor cores, f32 without rounding to
// shorter types. Empty if the data sheet of that GPU is not known here.
std::optional<double> dense_rate_of(const std::string& gpu, DType dtype);

}  // namespace trireme::device
