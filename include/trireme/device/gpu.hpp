// The GPU below a rank: CUDA's, an emulated one of the tests, or none, as the program was linked.
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
    std::string bus_id = {};              // "0000:1B:00.0": one of its machine has it
    int capability = 0;                   // 90
    std::size_t memory_bytes = 0;         // that it has
    int processors = 0;                   // multiprocessors
    std::size_t shared_memory_bytes = 0;  // that a block may have at most
};

// All that this process may use, or why it may use none.
struct GpuSearch {
    std::vector<GpuFacts> gpus = {};
    std::string complaint = {};  // "this program was built without CUDA"; empty where there are some
};
GpuSearch find_gpus();

// This process' from here on: whatever follows is done on it. Throws ResourceError.
void use_gpu(int number);

// Of the GPU in use: the first one, unless told otherwise.
GpuFacts gpu_in_use();
std::size_t free_gpu_memory();  // bytes

// Memory of the GPU, zeroed; throws ResourceError where there is no more.
std::byte* take_gpu_memory(std::size_t bytes);
void give_back_gpu_memory(std::byte* memory) noexcept;
std::size_t most_gpu_memory();  // bytes that this process had taken at once, at most
void forget_most_gpu_memory();  // until now: counts from what is taken

// Memory of the machine that the GPU reads and writes without the processor's help.
std::byte* take_pinned_memory(std::size_t bytes);
void give_back_pinned_memory(std::byte* memory) noexcept;

// Rows of `row_bytes`, one `..._stride` bytes after the other, between the GPU and the machine or within
// either: behind all that this process has given the GPU to do, and done when it returns. For any thread.
void copy_gpu_rows(void* to, std::size_t to_stride, const void* from, std::size_t from_stride,
                   std::size_t row_bytes, std::size_t rows);

// Until the GPU that has this memory has done all that the process has given it: such a copy would wait for one
// that hangs for ever. For any thread.
void wait_for_gpu(const void* memory, const Patience& patience);

// As sum_in_order(), of the GPU's memory.
void sum_in_order_on_gpu(Tensor own, std::size_t self, ConstTensor others);

// A moment in the work of a queue.
class GpuMoment {
public:
    GpuMoment();
    ~GpuMoment();
    GpuMoment(GpuMoment&& other) noexcept;
    GpuMoment& operator=(GpuMoment&& other) noexcept;

    bool is_over() const;                                  // true too where none was marked
    double seconds_since(const GpuMoment& earlier) const;  // both are over

    void* native() const { return event_; }  // the library's own handle

private:
    friend class GpuQueue;
    void* event_ = nullptr;
};

// Work that the GPU does in the order in which it is given, while the processor goes on.
class GpuQueue {
public:
    GpuQueue();
    static GpuQueue alone();  // one that copy_gpu_rows() and sum_in_order_on_gpu() do not wait for
    ~GpuQueue();
    GpuQueue(GpuQueue&& other) noexcept;
    GpuQueue& operator=(GpuQueue&& other) noexcept;

    // Between the GPU's memory and pinned memory, or within the GPU's.
    void copy(void* to, const void* from, std::size_t bytes);
    void clear(void* memory, std::size_t bytes);

    void mark(GpuMoment& moment);            // behind all that it was given
    void wait_for(const GpuMoment& moment);  // what it is given from here on begins after it

    // The processor waits: until all is done, or the moment is over, and as long as its patience lasts. Throws
    // ResourceError where the GPU failed.
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

// Blocks of threads.
struct GpuGrid {
    unsigned blocks_x = 1;
    unsigned blocks_y = 1;
    unsigned blocks_z = 1;
    unsigned threads = 256;  // of a block
    std::size_t shared_bytes = 0;
};

// A kernel, as CUDA knows it, and the addresses of its arguments.
void start_kernel(GpuQueue& queue, const GpuGrid& grid, const void* kernel, void** arguments);

// Multiplications and additions a second of dense matrix products, as the data sheet has them: of bf16 on
// tensor cores, of f32 without rounding to shorter numbers. None: no sheet of that GPU is known here.
std::optional<double> dense_rate_of(const std::string& gpu, DType dtype);

}  // namespace trireme::device
