#include "trireme/device/gpu.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <exception>
#include <limits>
#include <utility>

#include "device/cuda/check_cuda.hpp"

namespace trireme::device {
namespace {

constexpr std::size_t megabyte = 1'000'000;

std::string bus_id_of(int number) {
    std::array<char, 32> text{};
    check_cuda(cudaDeviceGetPCIBusId(text.data(), static_cast<int>(text.size()), number),
               "cudaDeviceGetPCIBusId");
    return text.data();
}

GpuFacts facts_of(int number) {
    cudaDeviceProp properties{};
    check_cuda(cudaGetDeviceProperties(&properties, number), "cudaGetDeviceProperties");
    return {.number = number,
            .name = properties.name,
            .bus_id = bus_id_of(number),
            .capability = properties.major * 10 + properties.minor,
            .memory_bytes = properties.totalGlobalMem,
            .processors = properties.multiProcessorCount,
            .shared_memory_bytes = properties.sharedMemPerBlockOptin};
}

// Selects the GPU of `memory` for the calling thread. A new thread starts with the first GPU selected.
void use_gpu_of(const void* memory) {
    cudaPointerAttributes attributes{};
    check_cuda(cudaPointerGetAttributes(&attributes, memory), "cudaPointerGetAttributes");
    if (attributes.type == cudaMemoryTypeDevice) check_cuda(cudaSetDevice(attributes.device), "cudaSetDevice");
}

// Returns the memory pool of the GPU in use. Freed memory
// stays in it, because the next plan needs as much again.
cudaMemPool_t memory_pool() {
    int number = 0;
    cudaMemPool_t pool = nullptr;
    check_cuda(cudaGetDevice(&number), "cudaGetDevice");
    check_cuda(cudaDeviceGetDefaultMemPool(&pool, number), "cudaDeviceGetDefaultMemPool");
    return pool;
}

std::uint64_t of_pool(cudaMemPoolAttr attribute) {
    std::uint64_t bytes = 0;
    check_cuda(cudaMemPoolGetAttribute(memory_pool(), attribute, &bytes), "cudaMemPoolGetAttribute");
    return bytes;
}

cudaEvent_t event_of(void* handle) { return static_cast<cudaEvent_t>(handle); }
cudaStream_t stream_of(void* handle) { return static_cast<cudaStream_t>(handle); }

// Formats a version of CUDA, which is encoded as 1000 * major + 10 * minor.
std::string version(int number) { return cat(number / 1000, ".", number % 1000 / 10); }

std::string driver_complaint() {
    int driver = 0;
    cudaDriverGetVersion(&driver);
    if (driver == 0) return "no NVIDIA driver was found";
    return cat("the NVIDIA driver knows CUDA ", version(driver), ", and this program was built with ",
               version(CUDART_VERSION), ": install a newer driver, or build with an older CUDA");
}

// Returns false if the queried work is not ready. Throws ResourceError if it failed.
bool is_done(cudaError_t answer) {
    if (answer == cudaErrorNotReady) {
        cudaGetLastError();  // clears the code: it is no error, and a later cudaGetLastError() would return it
        return false;
    }
    check_cuda(answer, "work of the GPU");
    return true;
}

}  // namespace

// The event is recorded in the default stream, which waits for all blocking streams.
void wait_for_gpu(const void* memory, const Patience& patience) {
    use_gpu_of(memory);
    const GpuMoment now;
    check_cuda(cudaEventRecord(event_of(now.native()), nullptr), "cudaEventRecord");
    wait_until([&] { return now.is_over(); }, patience, [] { return "its GPU to do all that it was given"; });
}

GpuSearch find_gpus() {
    int count = 0;
    const cudaError_t code = cudaGetDeviceCount(&count);
    GpuSearch search;
    if (code == cudaErrorInsufficientDriver) {
        search.complaint = driver_complaint();
    } else if (code == cudaErrorNoDevice || (code == cudaSuccess && count == 0)) {
        search.complaint =
            "the NVIDIA driver sees no GPU (CUDA_VISIBLE_DEVICES, or the job's --gpus, may hide it)";
    } else if (code != cudaSuccess) {
        search.complaint = cat("CUDA does not start: ", cudaGetErrorString(code));
    }
    if (!search.complaint.empty()) return search;
    for (int number = 0; number < count; ++number) search.gpus.push_back(facts_of(number));
    return search;
}

void use_gpu(int number) {
    check_cuda(cudaSetDevice(number), "cudaSetDevice");
    check_cuda(cudaFree(nullptr), "the GPU's start");  // creates the context now, not within a step
    std::uint64_t everything = std::numeric_limits<std::uint64_t>::max();
    check_cuda(cudaMemPoolSetAttribute(memory_pool(), cudaMemPoolAttrReleaseThreshold, &everything),
               "cudaMemPoolSetAttribute");
}

GpuFacts gpu_in_use() {
    int number = 0;
    check_cuda(cudaGetDevice(&number), "cudaGetDevice");
    return facts_of(number);
}

std::size_t free_gpu_memory() {
    std::size_t free = 0;
    std::size_t total = 0;
    check_cuda(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
    return free + (of_pool(cudaMemPoolAttrReservedMemCurrent) - of_pool(cudaMemPoolAttrUsedMemCurrent));
}

std::byte* take_gpu_memory(std::size_t bytes) {
    void* memory = nullptr;
    cudaError_t code = cudaMallocAsync(&memory, bytes, nullptr);
    if (code == cudaErrorMemoryAllocation) {  // the pool's free memory may be fragmented
        cudaGetLastError();
        check_cuda(cudaStreamSynchronize(nullptr), "memory of the GPU");
        check_cuda(cudaMemPoolTrimTo(memory_pool(), 0), "cudaMemPoolTrimTo");
        code = cudaMallocAsync(&memory, bytes, nullptr);
    }
    if (code == cudaErrorMemoryAllocation) {
        cudaGetLastError();  // clears the code, because the caller may catch this and continue
        throw ResourceError(
            cat("the GPU has no ", bytes / megabyte, " MB more: ", free_gpu_memory() / megabyte,
                " MB are free; use a smaller --batch, more --microbatches, --recompute or more ranks"));
    }
    check_cuda(code, "cudaMallocAsync");
    check_cuda(cudaMemsetAsync(memory, 0, bytes, nullptr), "cudaMemsetAsync");
    wait_for_gpu(memory, {});
    return static_cast<std::byte*>(memory);
}

// The memory is freed in the default stream, so after all work that is queued now.
void give_back_gpu_memory(std::byte* memory) noexcept { cudaFreeAsync(memory, nullptr); }

// After a reset, CUDA's high-water mark is too low until the next allocation; hence the maximum.
std::size_t most_gpu_memory() {
    return std::max(of_pool(cudaMemPoolAttrUsedMemHigh), of_pool(cudaMemPoolAttrUsedMemCurrent));
}

void forget_most_gpu_memory() {
    std::uint64_t zero = 0;
    check_cuda(cudaMemPoolSetAttribute(memory_pool(), cudaMemPoolAttrUsedMemHigh, &zero),
               "cudaMemPoolSetAttribute");
}

std::byte* take_pinned_memory(std::size_t bytes) {
    void* memory = nullptr;
    check_cuda(cudaMallocHost(&memory, bytes), "cudaMallocHost");
    return static_cast<std::byte*>(memory);
}

// cudaFreeHost waits for the GPU, which may hang if an
// exception ends the job. The system frees the memory then.
void give_back_pinned_memory(std::byte* memory) noexcept {
    if (std::uncaught_exceptions() == 0) cudaFreeHost(memory);
}

void copy_gpu_rows(void* to, std::size_t to_stride, const void* from, std::size_t from_stride,
                   std::size_t row_bytes, std::size_t rows) {
    if (row_bytes == 0 || rows == 0) return;
    use_gpu_of(to);
    use_gpu_of(from);
    if (rows == 1 || (to_stride == row_bytes && from_stride == row_bytes)) {
        check_cuda(cudaMemcpy(to, from, rows * row_bytes, cudaMemcpyDefault), "cudaMemcpy");
    } else {
        check_cuda(cudaMemcpy2D(to, to_stride, from, from_stride, row_bytes, rows, cudaMemcpyDefault),
                   "cudaMemcpy2D");
    }
    // Copies within the GPU do not block by themselves.
    check_cuda(cudaStreamSynchronize(nullptr), "cudaStreamSynchronize");
}

GpuMoment::GpuMoment() {
    cudaEvent_t event = nullptr;
    check_cuda(cudaEventCreate(&event), "cudaEventCreate");
    event_ = event;
}

GpuMoment::~GpuMoment() {
    if (event_ != nullptr) cudaEventDestroy(event_of(event_));
}

GpuMoment::GpuMoment(GpuMoment&& other) noexcept : event_(std::exchange(other.event_, nullptr)) {}

GpuMoment& GpuMoment::operator=(GpuMoment&& other) noexcept {
    std::swap(event_, other.event_);
    return *this;
}

bool GpuMoment::is_over() const { return is_done(cudaEventQuery(event_of(event_))); }

double GpuMoment::seconds_since(const GpuMoment& earlier) const {
    float milliseconds = 0;
    check_cuda(cudaEventElapsedTime(&milliseconds, event_of(earlier.event_), event_of(event_)),
               "cudaEventElapsedTime");
    return static_cast<double>(milliseconds) * 1e-3;
}

GpuQueue::GpuQueue() {
    cudaStream_t stream = nullptr;
    check_cuda(cudaStreamCreate(&stream), "cudaStreamCreate");
    stream_ = stream;
}

GpuQueue GpuQueue::alone() {
    cudaStream_t stream = nullptr;
    check_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
    return GpuQueue(stream);
}

GpuQueue::~GpuQueue() {
    if (stream_ != nullptr) cudaStreamDestroy(stream_of(stream_));
}

GpuQueue::GpuQueue(GpuQueue&& other) noexcept
    : stream_(std::exchange(other.stream_, nullptr)), patience_(other.patience_) {}

GpuQueue& GpuQueue::operator=(GpuQueue&& other) noexcept {
    std::swap(stream_, other.stream_);
    std::swap(patience_, other.patience_);
    return *this;
}

void GpuQueue::copy(void* to, const void* from, std::size_t bytes) {
    check_cuda(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream_of(stream_)), "cudaMemcpyAsync");
}

void GpuQueue::clear(void* memory, std::size_t bytes) {
    check_cuda(cudaMemsetAsync(memory, 0, bytes, stream_of(stream_)), "cudaMemsetAsync");
}

void GpuQueue::mark(GpuMoment& moment) {
    check_cuda(cudaEventRecord(event_of(moment.event_), stream_of(stream_)), "cudaEventRecord");
}

void GpuQueue::wait_for(const GpuMoment& moment) {
    check_cuda(cudaStreamWaitEvent(stream_of(stream_), event_of(moment.event_), 0), "cudaStreamWaitEvent");
}

bool GpuQueue::is_idle() const { return is_done(cudaStreamQuery(stream_of(stream_))); }

void start_kernel(GpuQueue& queue, const GpuGrid& grid, const void* kernel, void** arguments) {
    constexpr std::size_t to_be_asked_for = 48 * 1024;
    if (grid.shared_bytes >= to_be_asked_for) {
        check_cuda(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                        static_cast<int>(grid.shared_bytes)),
                   "cudaFuncSetAttribute");
    }
    check_cuda(cudaLaunchKernel(kernel, {grid.blocks_x, grid.blocks_y, grid.blocks_z}, {grid.threads, 1, 1},
                                arguments, grid.shared_bytes, static_cast<cudaStream_t>(queue.native())),
               "cudaLaunchKernel");
}

}  // namespace trireme::device
