// Matmuls with cuBLASLt. The library is column-major, so it sees each of our row-major matrices as its
// transpose: result = left right becomes result^T = right^T left^T.
#include <cublasLt.h>

#include <algorithm>
#include <array>
#include <exception>
#include <map>
#include <optional>
#include <tuple>

#include "kernels/cuda/matmul/matmul_library.hpp"
#include "kernels/cuda/support/gpu_stream_state.hpp"
#include "trireme/device/shared_library.hpp"

namespace trireme::kernels {
namespace {

constexpr std::size_t workspace_bytes = std::size_t{32} << 20;  // enough for the algorithms for Hopper

// Functions of the library, which is loaded at run time.
struct LibraryCalls {
    decltype(&cublasLtCreate) create = nullptr;
    decltype(&cublasLtDestroy) destroy = nullptr;
    decltype(&cublasLtMatmulDescInit_internal) init_matmul = nullptr;
    decltype(&cublasLtMatmulDescSetAttribute) set_matmul = nullptr;
    decltype(&cublasLtMatrixLayoutInit_internal) init_layout = nullptr;
    decltype(&cublasLtMatmulPreferenceInit_internal) init_preference = nullptr;
    decltype(&cublasLtMatmulPreferenceSetAttribute) set_preference = nullptr;
    decltype(&cublasLtMatmulAlgoGetHeuristic) find_algorithms = nullptr;
    decltype(&cublasLtMatmul) multiply = nullptr;
    decltype(&cublasLtGetStatusName) get_name = nullptr;
};

struct LibraryTypes {
    cudaDataType_t elements;
    cublasComputeType_t compute;  // of the sums
    cudaDataType_t scale;         // of alpha and beta
};

LibraryTypes find_types(device::DType dtype) {
    switch (dtype) {
        case device::DType::bf16:
            return {CUDA_R_16BF, CUBLAS_COMPUTE_32F, CUDA_R_32F};
        case device::DType::f32:
            return {CUDA_R_32F, CUBLAS_COMPUTE_32F, CUDA_R_32F};
        case device::DType::f64:
            return {CUDA_R_64F, CUBLAS_COMPUTE_64F, CUDA_R_64F};
        default:
            throw BugError(cat("matmuls of ", to_string(dtype), " matrices are not supported"));
    }
}

std::string library_name() { return cat("libcublasLt.so.", CUBLAS_VER_MAJOR); }

// The fused operations as cuBLASLt describes them. The auxiliary matrix is the input of the activation.
struct Epilogue {
    cublasLtEpilogue_t kind = CUBLASLT_EPILOGUE_DEFAULT;
    const void* bias = nullptr;
    const void* aux_matrix = nullptr;  // written in the forward pass, read in the backward pass
    std::size_t aux_stride = 0;        // of the auxiliary matrix, in elements
};

Epilogue make_epilogue(const GpuMatmul& matmul) {
    if (matmul.activated_output.is_present()) {
        return {.kind = matmul.bias.is_present() ? CUBLASLT_EPILOGUE_GELU_AUX_BIAS : CUBLASLT_EPILOGUE_GELU_AUX,
                .bias = matmul.bias.data,
                .aux_matrix = matmul.result.data,
                .aux_stride = matmul.result.stride};
    }
    if (matmul.activation_input.is_present()) {
        return {.kind = CUBLASLT_EPILOGUE_DGELU,
                .aux_matrix = matmul.activation_input.data,
                .aux_stride = matmul.activation_input.stride};
    }
    if (matmul.bias.is_present()) return {.kind = CUBLASLT_EPILOGUE_BIAS, .bias = matmul.bias.data};
    return {};
}

// Returns the matrix that the library calls its output. If the activation of a forward pass is fused, the
// output is `activated_output`, and `result` is the auxiliary matrix.
const device::Tensor& get_output(const GpuMatmul& matmul) {
    return matmul.activated_output.is_present() ? matmul.activated_output : matmul.result;
}

// The properties of a matmul on which the choice of an algorithm depends.
using AlgorithmKey = std::tuple<std::array<std::size_t, 7>, device::DType, device::DType, bool, bool, bool,
                                cublasLtEpilogue_t, std::array<std::size_t, 3>>;

// Returns the largest power of two, at most 256, that divides an address. Algorithms require different
// alignments.
std::size_t compute_alignment(const void* address) {
    const auto bits = reinterpret_cast<std::uintptr_t>(address) | 256U;
    return bits & (~bits + 1);
}

std::size_t compute_matrix_alignment(const GpuMatmul& matmul) {
    return std::min({compute_alignment(matmul.left.data), compute_alignment(matmul.right.data),
                     compute_alignment(get_output(matmul).data)});
}

AlgorithmKey make_algorithm_key(const GpuMatmul& matmul) {
    const Epilogue epilogue = make_epilogue(matmul);
    return {{matmul.result.rows, matmul.result.columns, matmul.depth(), matmul.left.stride, matmul.right.stride,
             get_output(matmul).stride, epilogue.aux_stride},
            matmul.left.dtype,
            matmul.result.dtype,
            matmul.is_left_transposed,
            matmul.is_right_transposed,
            matmul.accumulate,
            epilogue.kind,
            {compute_matrix_alignment(matmul), compute_alignment(epilogue.bias),
             compute_alignment(epilogue.aux_matrix)}};
}

}  // namespace

class MatmulLibrary::Lt {
public:
    Lt() : library_({library_name()}, "multiplying matrices on the GPU") {
        library_.load_symbol("cublasLtCreate", calls_.create);
        library_.load_symbol("cublasLtDestroy", calls_.destroy);
        library_.load_symbol("cublasLtMatmulDescInit_internal", calls_.init_matmul);
        library_.load_symbol("cublasLtMatmulDescSetAttribute", calls_.set_matmul);
        library_.load_symbol("cublasLtMatrixLayoutInit_internal", calls_.init_layout);
        library_.load_symbol("cublasLtMatmulPreferenceInit_internal", calls_.init_preference);
        library_.load_symbol("cublasLtMatmulPreferenceSetAttribute", calls_.set_preference);
        library_.load_symbol("cublasLtMatmulAlgoGetHeuristic", calls_.find_algorithms);
        library_.load_symbol("cublasLtMatmul", calls_.multiply);
        library_.load_symbol("cublasLtGetStatusName", calls_.get_name);
        check(calls_.create(&handle_), "cublasLtCreate");
        workspace_ = device::allocate_gpu_memory(workspace_bytes);
    }
    // cublasLtDestroy waits for the GPU. If an exception ends the job, this wait may never end, so the call is
    // skipped.
    ~Lt() {
        device::free_gpu_memory(workspace_);
        if (std::uncaught_exceptions() == 0) calls_.destroy(handle_);
    }
    Lt(const Lt&) = delete;
    Lt& operator=(const Lt&) = delete;

    bool multiply_fused(device::GpuQueue& queue, const GpuMatmul& matmul);
    void multiply(device::GpuQueue& queue, const GpuMatmul& matmul);

private:
    // The descriptors with which cuBLASLt describes a matmul and its matrices.
    struct Description {
        cublasLtMatmulDescOpaque_t matmul;
        cublasLtMatrixLayoutOpaque_t right, left, result;
    };
    using Algorithm = std::optional<cublasLtMatmulAlgo_t>;

    void check(cublasStatus_t status, const char* call) const {
        if (status == CUBLAS_STATUS_SUCCESS) return;
        throw ResourceError(cat(call, " failed: ", calls_.get_name(status)));
    }
    template <class Value>
    void set(cublasLtMatmulDescOpaque_t& matmul, cublasLtMatmulDescAttributes_t attribute, Value value) const {
        check(calls_.set_matmul(&matmul, attribute, &value, sizeof value), "cublasLtMatmulDescSetAttribute");
    }
    cublasLtMatrixLayoutOpaque_t make_layout(const device::ConstTensor& matrix) const {
        cublasLtMatrixLayoutOpaque_t layout{};
        check(calls_.init_layout(&layout, sizeof layout, find_types(matrix.dtype).elements, matrix.columns,
                                 matrix.rows, static_cast<std::int64_t>(matrix.stride)),
              "cublasLtMatrixLayoutInit");
        return layout;
    }
    cublasLtMatmulDescOpaque_t make_matmul(const GpuMatmul& matmul) const;
    Description describe(const GpuMatmul& matmul) const {
        return {.matmul = make_matmul(matmul),
                .right = make_layout(matmul.right),
                .left = make_layout(matmul.left),
                .result = make_layout(get_output(matmul))};
    }
    Algorithm& look_up_algorithm(const GpuMatmul& matmul, Description description);
    Algorithm find_algorithm(const GpuMatmul& matmul, Description& description) const;
    cublasStatus_t multiply_with_algorithm(const cublasLtMatmulAlgo_t& algorithm, device::GpuQueue& queue,
                                           const GpuMatmul& matmul, Description& description);

    device::SharedLibrary library_;
    LibraryCalls calls_;
    cublasLtHandle_t handle_ = nullptr;
    std::byte* workspace_ = nullptr;
    std::map<AlgorithmKey, Algorithm> algorithms_;  // nullopt if the library has no algorithm
};

cublasLtMatmulDescOpaque_t MatmulLibrary::Lt::make_matmul(const GpuMatmul& matmul) const {
    cublasLtMatmulDescOpaque_t description{};
    const LibraryTypes types = find_types(matmul.left.dtype);
    check(calls_.init_matmul(&description, sizeof description, types.compute, types.scale),
          "cublasLtMatmulDescInit");
    set(description, CUBLASLT_MATMUL_DESC_TRANSA, matmul.is_right_transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
    set(description, CUBLASLT_MATMUL_DESC_TRANSB, matmul.is_left_transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
    const Epilogue epilogue = make_epilogue(matmul);
    set(description, CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue.kind);
    if (epilogue.bias != nullptr) {
        set(description, CUBLASLT_MATMUL_DESC_BIAS_POINTER, epilogue.bias);
        set(description, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE,
            static_cast<std::int32_t>(find_types(matmul.result.dtype).elements));
    }
    if (epilogue.aux_matrix != nullptr) {
        set(description, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, epilogue.aux_matrix);
        set(description, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, static_cast<std::int64_t>(epilogue.aux_stride));
    }
    return description;
}

MatmulLibrary::Lt::Algorithm& MatmulLibrary::Lt::look_up_algorithm(const GpuMatmul& matmul,
                                                                   Description description) {
    const AlgorithmKey key = make_algorithm_key(matmul);
    const auto cached = algorithms_.find(key);
    if (cached != algorithms_.end()) return cached->second;
    return algorithms_.emplace(key, find_algorithm(matmul, description)).first->second;
}

// Asks the library for an algorithm. If an algorithm divides a sum among several blocks of threads (split-K),
// the partial sums must have the compute type and be added in a fixed order.
MatmulLibrary::Lt::Algorithm MatmulLibrary::Lt::find_algorithm(const GpuMatmul& matmul,
                                                               Description& description) const {
    cublasLtMatmulPreferenceOpaque_t preference{};
    check(calls_.init_preference(&preference, sizeof preference), "cublasLtMatmulPreferenceInit");
    const auto prefer = [&](cublasLtMatmulPreferenceAttributes_t attribute, auto value) {
        check(calls_.set_preference(&preference, attribute, &value, sizeof value),
              "cublasLtMatmulPreferenceSetAttribute");
    };
    const auto alignment = static_cast<std::uint32_t>(compute_matrix_alignment(matmul));
    const auto reduction_scheme = static_cast<std::uint32_t>(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE);
    prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, workspace_bytes);
    prefer(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, reduction_scheme);
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignment);
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignment);
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignment);
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignment);
    cublasLtMatmulHeuristicResult_t best{};
    int found_count = 0;
    const cublasStatus_t status =
        calls_.find_algorithms(handle_, &description.matmul, &description.right, &description.left,
                               &description.result, &description.result, &preference, 1, &best, &found_count);
    const bool is_fused = make_epilogue(matmul).kind != CUBLASLT_EPILOGUE_DEFAULT;
    const bool is_refused = is_fused && status != CUBLAS_STATUS_SUCCESS;
    if (status == CUBLAS_STATUS_NOT_SUPPORTED || is_refused) return std::nullopt;
    check(status, "cublasLtMatmulAlgoGetHeuristic");
    if (found_count == 0 || best.state != CUBLAS_STATUS_SUCCESS) return std::nullopt;
    return best.algo;
}

cublasStatus_t MatmulLibrary::Lt::multiply_with_algorithm(const cublasLtMatmulAlgo_t& algorithm,
                                                          device::GpuQueue& queue, const GpuMatmul& matmul,
                                                          Description& description) {
    void* const output = get_output(matmul).data;
    const auto run = [&](auto alpha, auto beta) {
        return calls_.multiply(handle_, &description.matmul, &alpha, matmul.right.data, &description.right,
                               matmul.left.data, &description.left, &beta, output, &description.result, output,
                               &description.result, &algorithm, workspace_, workspace_bytes,
                               static_cast<cudaStream_t>(queue.native()));
    };
    if (matmul.left.dtype == device::DType::f64) return run(1.0, matmul.accumulate ? 1.0 : 0.0);
    return run(1.0F, matmul.accumulate ? 1.0F : 0.0F);
}

// Returns false if the library cannot fuse the operations. The library's algorithms read the operands of fused
// operations in units of 16 bytes, so these operands must be aligned. For some types, the library has no
// algorithm with fused operations, or refuses the call. A refusal is remembered for later matmuls with the same
// key.
bool MatmulLibrary::Lt::multiply_fused(device::GpuQueue& queue, const GpuMatmul& matmul) {
    if (!matmul.result.is_present()) return true;
    const Epilogue epilogue = make_epilogue(matmul);
    const bool is_aligned =
        compute_alignment(epilogue.bias) >= 16 && compute_alignment(epilogue.aux_matrix) >= 16;
    if (!is_aligned || epilogue.aux_stride % 8 != 0 || matmul.depth() == 0) return false;
    Description description = describe(matmul);
    Algorithm& algorithm = look_up_algorithm(matmul, description);
    if (!algorithm) return false;
    const cublasStatus_t status = multiply_with_algorithm(*algorithm, queue, matmul, description);
    const bool is_refused = status == CUBLAS_STATUS_NOT_SUPPORTED || status == CUBLAS_STATUS_INVALID_VALUE;
    if (is_refused) algorithm.reset();
    if (!is_refused) check(status, "cublasLtMatmul");
    return !is_refused;
}

void MatmulLibrary::Lt::multiply(device::GpuQueue& queue, const GpuMatmul& matmul) {
    if (!matmul.result.is_present()) return;
    Description description = describe(matmul);
    const Algorithm& algorithm = look_up_algorithm(matmul, description);
    if (!algorithm) {
        throw ResourceError(cat("cuBLASLt has no algorithm to multiply ", matmul.result.rows, " x ",
                                matmul.depth(), " by ", matmul.depth(), " x ", matmul.result.columns, " ",
                                to_string(matmul.left.dtype), " matrices; use another --dtype or --device"));
    }
    check(multiply_with_algorithm(*algorithm, queue, matmul, description), "cublasLtMatmul");
}

MatmulLibrary::MatmulLibrary() : lt_(std::make_unique<Lt>()) {}
MatmulLibrary::~MatmulLibrary() = default;
std::size_t MatmulLibrary::count_gpu_bytes() { return workspace_bytes; }
void MatmulLibrary::multiply(device::GpuQueue& queue, const GpuMatmul& matmul) { lt_->multiply(queue, matmul); }
bool MatmulLibrary::multiply_fused(device::GpuQueue& queue, const GpuMatmul& matmul) {
    return lt_->multiply_fused(queue, matmul);
}

}  // namespace trireme::kernels
