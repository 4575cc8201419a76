#include "trireme/device/gpu.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <exception>
#include <functional>
#include <limits>
#include <memory>
#include <utility>

#include "device/cuda/check_cuda.hpp"

namespace trireme::device {
namespace {

constexpr std::size_t megabyte = 1'000'000;

std::string read_bus_id(int number) {
    std::array<char, 32> text{};
    check_cuda(cudaDeviceGetPCIBusId(text.data(), static_cast<int>(text.size()), number),
               "cudaDeviceGetPCIBusId");
    return text.data();
}

GpuFacts find_facts(int number) {
    cudaDeviceProp properties{};
    check_cuda(cudaGetDeviceProperties(&properties, number), "cudaGetDeviceProperties");
    return {.number = number,
            .name = properties.name,
            .bus_id = read_bus_id(number),
            .capability = properties.major * 10 + properties.minor,
            .memory_bytes = properties.totalGlobalMem,
            .multiprocessors = properties.multiProcessorCount,
            .shared_memory_bytes = properties.sharedMemPerBlockOptin};
}

// Selects, for the calling thread, the GPU that owns `memory`; does nothing for host memory. This is needed
// because CUDA selects the first GPU in each new thread.
void select_gpu_of(const void* memory) {
    cudaPointerAttributes attributes{};
    check_cuda(cudaPointerGetAttributes(&attributes, memory), "cudaPointerGetAttributes");
    if (attributes.type == cudaMemoryTypeDevice) check_cuda(cudaSetDevice(attributes.device), "cudaSetDevice");
}

// Returns the memory pool of the selected GPU. select_gpu() makes the pool keep freed memory, because a
// pipeline plan that replaces the current one needs about the same amount.
cudaMemPool_t get_memory_pool() {
    int number = 0;
    cudaMemPool_t pool = nullptr;
    check_cuda(cudaGetDevice(&number), "cudaGetDevice");
    check_cuda(cudaDeviceGetDefaultMemPool(&pool, number), "cudaDeviceGetDefaultMemPool");
    return pool;
}

std::uint64_t read_pool_bytes(cudaMemPoolAttr attribute) {
    std::uint64_t bytes = 0;
    check_cuda(cudaMemPoolGetAttribute(get_memory_pool(), attribute, &bytes), "cudaMemPoolGetAttribute");
    return bytes;
}

cudaEvent_t cuda_event(void* handle) { return static_cast<cudaEvent_t>(handle); }
cudaStream_t cuda_stream(void* handle) { return static_cast<cudaStream_t>(handle); }

// A cudaHostFn_t: calls and frees the std::function<void()> at `data`.
void CUDART_CB call_and_free(void* data) {
    const std::unique_ptr<std::function<void()>> function(static_cast<std::function<void()>*>(data));
    (*function)();
}

// Formats a CUDA version, which is encoded as 1000 * major + 10 * minor, for example as "12.4".
std::string format_version(int number) { return cat(number / 1000, ".", number % 1000 / 10); }

std::string explain_old_driver() {
    int driver = 0;
    cudaDriverGetVersion(&driver);
    if (driver == 0) return "no NVIDIA driver was found";
    return cat("the NVIDIA driver supports CUDA ", format_version(driver),
               ", but this program was built with CUDA ", format_version(CUDART_VERSION),
               ": install a newer driver, or build with an older CUDA");
}

// Converts the result of cudaEventQuery or cudaStreamQuery: returns true if the work has ended. Throws
// ResourceError if the work failed.
bool test_result(cudaError_t answer) {
    if (answer == cudaErrorNotReady) {
        cudaGetLastError();  // clears the code, which is no error
        return false;
    }
    check_cuda(answer, "queued work of the GPU");
    return true;
}

}  // namespace

// The event is recorded in the default stream, which waits for all blocking streams.
void wait_for_gpu(const void* memory, const WaitPolicy& wait_policy) {
    select_gpu_of(memory);
    const GpuEvent work_end;
    check_cuda(cudaEventRecord(cuda_event(work_end.native()), nullptr), "cudaEventRecord");
    wait_until([&] { return work_end.is_over(); }, wait_policy,
               [] { return "its GPU to finish all queued work"; });
}

GpuSearch find_gpus() {
    int count = 0;
    const cudaError_t code = cudaGetDeviceCount(&count);
    GpuSearch search;
    if (code == cudaErrorInsufficientDriver) {
        search.complaint = explain_old_driver();
    } else if (code == cudaErrorNoDevice || (code == cudaSuccess && count == 0)) {
        search.complaint =
            "the NVIDIA driver sees no GPU (CUDA_VISIBLE_DEVICES, or the job's --gpus, may hide it)";
    } else if (code != cudaSuccess) {
        search.complaint = cat("CUDA does not start: ", cudaGetErrorString(code));
    }
    if (!search.complaint.empty()) return search;
    for (int number = 0; number < count; ++number) search.gpus.push_back(find_facts(number));
    return search;
}

void select_gpu(int number) {
    check_cuda(cudaSetDevice(number), "cudaSetDevice");
    check_cuda(cudaFree(nullptr),
               "the initialization of the GPU");  // creates the context now, not within a step
    std::uint64_t keep_all_memory = std::numeric_limits<std::uint64_t>::max();
    check_cuda(cudaMemPoolSetAttribute(get_memory_pool(), cudaMemPoolAttrReleaseThreshold, &keep_all_memory),
               "cudaMemPoolSetAttribute");
}

GpuFacts selected_gpu() {
    int number = 0;
    check_cuda(cudaGetDevice(&number), "cudaGetDevice");
    return find_facts(number);
}

std::size_t count_free_gpu_bytes() {
    std::size_t free = 0;
    std::size_t total = 0;
    check_cuda(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
    return free + (read_pool_bytes(cudaMemPoolAttrReservedMemCurrent) -
                   read_pool_bytes(cudaMemPoolAttrUsedMemCurrent));
}

std::byte* allocate_gpu_memory(std::size_t bytes) {
    void* memory = nullptr;
    cudaError_t code = cudaMallocAsync(&memory, bytes, nullptr);
    if (code == cudaErrorMemoryAllocation) {  // the pool's free memory may be fragmented
        cudaGetLastError();
        check_cuda(cudaStreamSynchronize(nullptr), "cudaStreamSynchronize");
        check_cuda(cudaMemPoolTrimTo(get_memory_pool(), 0), "cudaMemPoolTrimTo");
        code = cudaMallocAsync(&memory, bytes, nullptr);
    }
    if (code == cudaErrorMemoryAllocation) {
        cudaGetLastError();  // clears the code, because the caller may catch this and continue
        throw ResourceError(
            cat("the GPU cannot allocate ", bytes / megabyte, " MB: ", count_free_gpu_bytes() / megabyte,
                " MB are free; use a smaller --batch, more --microbatches, --recompute or more ranks"));
    }
    check_cuda(code, "cudaMallocAsync");
    check_cuda(cudaMemsetAsync(memory, 0, bytes, nullptr), "cudaMemsetAsync");
    wait_for_gpu(memory, {});
    return static_cast<std::byte*>(memory);
}

// The memory is freed in the default stream, and therefore after all work that was queued in blocking streams
// before this call.
void free_gpu_memory(std::byte* memory) noexcept { cudaFreeAsync(memory, nullptr); }

// The maximum is needed because, after a reset, CUDA's high-water mark is too low until the next allocation.
std::size_t peak_gpu_bytes() {
    return std::max(read_pool_bytes(cudaMemPoolAttrUsedMemHigh),
                    read_pool_bytes(cudaMemPoolAttrUsedMemCurrent));
}

void reset_peak_gpu_bytes() {
    std::uint64_t zero = 0;
    check_cuda(cudaMemPoolSetAttribute(get_memory_pool(), cudaMemPoolAttrUsedMemHigh, &zero),
               "cudaMemPoolSetAttribute");
}

std::byte* allocate_pinned_memory(std::size_t bytes) {
    void* memory = nullptr;
    check_cuda(cudaMallocHost(&memory, bytes), "cudaMallocHost");
    return static_cast<std::byte*>(memory);
}

// cudaFreeHost waits for the work of the GPU. If an exception ends the job, the GPU may hang, and the wait
// would not end. The memory is then not freed here, but at the end of the process.
void free_pinned_memory(std::byte* memory) noexcept {
    if (std::uncaught_exceptions() == 0) cudaFreeHost(memory);
}

void copy_gpu_rows(void* to, std::size_t to_stride, const void* from, std::size_t from_stride,
                   std::size_t row_bytes, std::size_t rows) {
    if (row_bytes == 0 || rows == 0) return;
    select_gpu_of(to);
    select_gpu_of(from);
    if (rows == 1 || (to_stride == row_bytes && from_stride == row_bytes)) {
        check_cuda(cudaMemcpy(to, from, rows * row_bytes, cudaMemcpyDefault), "cudaMemcpy");
    } else {
        check_cuda(cudaMemcpy2D(to, to_stride, from, from_stride, row_bytes, rows, cudaMemcpyDefault),
                   "cudaMemcpy2D");
    }
    // Copies within the GPU do not block by themselves.
    check_cuda(cudaStreamSynchronize(nullptr), "cudaStreamSynchronize");
}

GpuEvent::GpuEvent() {
    cudaEvent_t event = nullptr;
    check_cuda(cudaEventCreate(&event), "cudaEventCreate");
    event_ = event;
}

GpuEvent::~GpuEvent() {
    if (event_ != nullptr) cudaEventDestroy(cuda_event(event_));
}

GpuEvent::GpuEvent(GpuEvent&& other) noexcept : event_(std::exchange(other.event_, nullptr)) {}

GpuEvent& GpuEvent::operator=(GpuEvent&& other) noexcept {
    std::swap(event_, other.event_);
    return *this;
}

bool GpuEvent::is_over() const { return test_result(cudaEventQuery(cuda_event(event_))); }

double GpuEvent::seconds_since(const GpuEvent& earlier) const {
    float milliseconds = 0;
    check_cuda(cudaEventElapsedTime(&milliseconds, cuda_event(earlier.event_), cuda_event(event_)),
               "cudaEventElapsedTime");
    return static_cast<double>(milliseconds) * 1e-3;
}

GpuQueue::GpuQueue() {
    cudaStream_t stream = nullptr;
    check_cuda(cudaStreamCreate(&stream), "cudaStreamCreate");
    stream_ = stream;
}

GpuQueue GpuQueue::make_non_blocking() {
    cudaStream_t stream = nullptr;
    check_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
    return GpuQueue(stream);
}

GpuQueue::~GpuQueue() {
    if (stream_ != nullptr) cudaStreamDestroy(cuda_stream(stream_));
}

GpuQueue::GpuQueue(GpuQueue&& other) noexcept
    : stream_(std::exchange(other.stream_, nullptr)), wait_policy_(other.wait_policy_) {}

GpuQueue& GpuQueue::operator=(GpuQueue&& other) noexcept {
    std::swap(stream_, other.stream_);
    std::swap(wait_policy_, other.wait_policy_);
    return *this;
}

void GpuQueue::copy(void* to, const void* from, std::size_t bytes) {
    check_cuda(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, cuda_stream(stream_)), "cudaMemcpyAsync");
}

void GpuQueue::clear(void* memory, std::size_t bytes) {
    check_cuda(cudaMemsetAsync(memory, 0, bytes, cuda_stream(stream_)), "cudaMemsetAsync");
}

// CUDA calls the function exactly once, unless the GPU fails: then its memory is lost.
void GpuQueue::call(std::function<void()> function) {
    auto owned = std::make_unique<std::function<void()>>(std::move(function));
    check_cuda(cudaLaunchHostFunc(cuda_stream(stream_), call_and_free, owned.get()), "cudaLaunchHostFunc");
    static_cast<void>(owned.release());
}

void GpuQueue::mark(GpuEvent& event) {
    check_cuda(cudaEventRecord(cuda_event(event.event_), cuda_stream(stream_)), "cudaEventRecord");
}

void GpuQueue::wait_for(const GpuEvent& event) {
    check_cuda(cudaStreamWaitEvent(cuda_stream(stream_), cuda_event(event.event_), 0), "cudaStreamWaitEvent");
}

bool GpuQueue::is_idle() const { return test_result(cudaStreamQuery(cuda_stream(stream_))); }

void launch_kernel(GpuQueue& queue, const GpuGrid& grid, const void* kernel, void** arguments) {
    constexpr std::size_t max_default_shared_bytes = 48 * 1024;  // CUDA requires an opt-in for more
    if (grid.shared_bytes >= max_default_shared_bytes) {
        check_cuda(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                        static_cast<int>(grid.shared_bytes)),
                   "cudaFuncSetAttribute");
    }
    check_cuda(cudaLaunchKernel(kernel, {grid.blocks_x, grid.blocks_y, grid.blocks_z}, {grid.threads, 1, 1},
                                arguments, grid.shared_bytes, static_cast<cudaStream_t>(queue.native())),
               "cudaLaunchKernel");
}

}  // namespace trireme::device
