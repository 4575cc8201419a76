// Matmuls with cuBLASLt. The library is column-major, so it sees each of our row-major matrices as its
// transpose: result = left right becomes result^T = right^T left^T.
#include <cublasLt.h>

#include <algorithm>
#include <array>
#include <exception>
#include <map>
#include <optional>
#include <tuple>

#include "kernels/cuda/matmul/product_library.hpp"
#include "kernels/cuda/support/gpu_work.hpp"
#include "trireme/device/shared_library.hpp"

namespace trireme::kernels {
namespace {

constexpr std::size_t workspace_bytes = std::size_t{32} << 20;  // enough for the algorithms for Hopper

struct Calls {
    decltype(&cublasLtCreate) create = nullptr;
    decltype(&cublasLtDestroy) destroy = nullptr;
    decltype(&cublasLtMatmulDescInit_internal) init_product = nullptr;
    decltype(&cublasLtMatmulDescSetAttribute) set_product = nullptr;
    decltype(&cublasLtMatrixLayoutInit_internal) init_layout = nullptr;
    decltype(&cublasLtMatmulPreferenceInit_internal) init_preference = nullptr;
    decltype(&cublasLtMatmulPreferenceSetAttribute) set_preference = nullptr;
    decltype(&cublasLtMatmulAlgoGetHeuristic) find_algorithms = nullptr;
    decltype(&cublasLtMatmul) multiply = nullptr;
    decltype(&cublasLtGetStatusName) name_of = nullptr;
};

struct Types {
    cudaDataType_t numbers;
    cublasComputeType_t sums;
    cudaDataType_t scale;
};

Types types_of(device::DType dtype) {
    switch (dtype) {
        case device::DType::bf16:
            return {CUDA_R_16BF, CUBLAS_COMPUTE_32F, CUDA_R_32F};
        case device::DType::f32:
            return {CUDA_R_32F, CUBLAS_COMPUTE_32F, CUDA_R_32F};
        case device::DType::f64:
            return {CUDA_R_64F, CUBLAS_COMPUTE_64F, CUDA_R_64F};
        default:
            throw BugError(cat("matrices of ", name_of(dtype), " are not multiplied"));
    }
}

std::string library_name() { return cat("libcublasLt.so.", CUBLAS_VER_MAJOR); }

// The fused operations as cuBLASLt describes them. It has one pointer for the auxiliary matrix, read or
// written.
struct Joined {
    cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
    const void* vector = nullptr;  // the bias
    const void* matrix = nullptr;  // input of the activation: written forward, read backward
    std::size_t matrix_stride = 0;
};

Joined joined_to(const GpuProduct& p) {
    if (p.activated.is_present()) {
        return {.epilogue = p.bias.is_present() ? CUBLASLT_EPILOGUE_GELU_AUX_BIAS : CUBLASLT_EPILOGUE_GELU_AUX,
                .vector = p.bias.data,
                .matrix = p.result.data,
                .matrix_stride = p.result.stride};
    }
    if (p.activated_from.is_present()) {
        return {.epilogue = CUBLASLT_EPILOGUE_DGELU,
                .matrix = p.activated_from.data,
                .matrix_stride = p.activated_from.stride};
    }
    if (p.bias.is_present()) return {.epilogue = CUBLASLT_EPILOGUE_BIAS, .vector = p.bias.data};
    return {};
}

// Returns the library's output matrix. With a fused activation it is `activated`, and `result` is the auxiliary
// matrix.
const device::Tensor& made_by(const GpuProduct& p) { return p.activated.is_present() ? p.activated : p.result; }

// Everything that the choice of an algorithm depends on.
using Shape = std::tuple<std::array<std::size_t, 7>, device::DType, device::DType, bool, bool, bool,
                         cublasLtEpilogue_t, std::array<std::size_t, 3>>;

// Returns the largest power of two, at most 256, that divides an address. Algorithms require different
// alignments.
std::size_t alignment_of(const void* address) {
    const auto bits = reinterpret_cast<std::uintptr_t>(address) | 256U;
    return bits & (~bits + 1);
}

std::size_t alignment_of_matrices(const GpuProduct& p) {
    return std::min({alignment_of(p.left.data), alignment_of(p.right.data), alignment_of(made_by(p).data)});
}

Shape shape_of(const GpuProduct& p) {
    const Joined joined = joined_to(p);
    return {{p.result.rows, p.result.columns, p.depth(), p.left.stride, p.right.stride, made_by(p).stride,
             joined.matrix_stride},
            p.left.dtype,
            p.result.dtype,
            p.is_left_transposed,
            p.is_right_transposed,
            p.accumulate,
            joined.epilogue,
            {alignment_of_matrices(p), alignment_of(joined.vector), alignment_of(joined.matrix)}};
}

}  // namespace

class ProductLibrary::Lt {
public:
    Lt() : library_({library_name()}, "multiplying matrices on the GPU") {
        library_.find("cublasLtCreate", calls_.create);
        library_.find("cublasLtDestroy", calls_.destroy);
        library_.find("cublasLtMatmulDescInit_internal", calls_.init_product);
        library_.find("cublasLtMatmulDescSetAttribute", calls_.set_product);
        library_.find("cublasLtMatrixLayoutInit_internal", calls_.init_layout);
        library_.find("cublasLtMatmulPreferenceInit_internal", calls_.init_preference);
        library_.find("cublasLtMatmulPreferenceSetAttribute", calls_.set_preference);
        library_.find("cublasLtMatmulAlgoGetHeuristic", calls_.find_algorithms);
        library_.find("cublasLtMatmul", calls_.multiply);
        library_.find("cublasLtGetStatusName", calls_.name_of);
        check(calls_.create(&handle_), "cublasLtCreate");
        workspace_ = device::take_gpu_memory(workspace_bytes);
    }
    // cublasLtDestroy waits for the GPU, which may hang if an exception ends the job.
    ~Lt() {
        device::give_back_gpu_memory(workspace_);
        if (std::uncaught_exceptions() == 0) calls_.destroy(handle_);
    }
    Lt(const Lt&) = delete;
    Lt& operator=(const Lt&) = delete;

    bool multiply_joined(device::GpuQueue& queue, const GpuProduct& product);
    void multiply(device::GpuQueue& queue, const GpuProduct& product);

private:
    // The library's descriptors of a matmul.
    struct Description {
        cublasLtMatmulDescOpaque_t product;
        cublasLtMatrixLayoutOpaque_t right, left, result;
    };
    using Algorithm = std::optional<cublasLtMatmulAlgo_t>;

    void check(cublasStatus_t status, const char* call) const {
        if (status == CUBLAS_STATUS_SUCCESS) return;
        throw ResourceError(cat(call, " failed: ", calls_.name_of(status)));
    }
    template <class Value>
    void set(cublasLtMatmulDescOpaque_t& product, cublasLtMatmulDescAttributes_t attribute, Value value) const {
        check(calls_.set_product(&product, attribute, &value, sizeof value), "cublasLtMatmulDescSetAttribute");
    }
    cublasLtMatrixLayoutOpaque_t layout_of(const device::ConstTensor& matrix) const {
        cublasLtMatrixLayoutOpaque_t layout{};
        check(calls_.init_layout(&layout, sizeof layout, types_of(matrix.dtype).numbers, matrix.columns,
                                 matrix.rows, static_cast<std::int64_t>(matrix.stride)),
              "cublasLtMatrixLayoutInit");
        return layout;
    }
    cublasLtMatmulDescOpaque_t product_of(const GpuProduct& product) const;
    Description described(const GpuProduct& product) const {
        return {.product = product_of(product),
                .right = layout_of(product.right),
                .left = layout_of(product.left),
                .result = layout_of(made_by(product))};
    }
    Algorithm& algorithm_of(const GpuProduct& product, Description description);
    Algorithm find_algorithm(const GpuProduct& product, Description& description) const;
    cublasStatus_t multiply_by(const cublasLtMatmulAlgo_t& algorithm, device::GpuQueue& queue,
                               const GpuProduct& product, Description& description);

    device::SharedLibrary library_;
    Calls calls_;
    cublasLtHandle_t handle_ = nullptr;
    std::byte* workspace_ = nullptr;
    std::map<Shape, Algorithm> algorithms_;  // nullopt if there is none
};

cublasLtMatmulDescOpaque_t ProductLibrary::Lt::product_of(const GpuProduct& product) const {
    cublasLtMatmulDescOpaque_t description{};
    const Types types = types_of(product.left.dtype);
    check(calls_.init_product(&description, sizeof description, types.sums, types.scale),
          "cublasLtMatmulDescInit");
    set(description, CUBLASLT_MATMUL_DESC_TRANSA, product.is_right_transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
    set(description, CUBLASLT_MATMUL_DESC_TRANSB, product.is_left_transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
    const Joined joined = joined_to(product);
    set(description, CUBLASLT_MATMUL_DESC_EPILOGUE, joined.epilogue);
    if (joined.vector != nullptr) {
        set(description, CUBLASLT_MATMUL_DESC_BIAS_POINTER, joined.vector);
        set(description, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE,
            static_cast<std::int32_t>(types_of(product.result.dtype).numbers));
    }
    if (joined.matrix != nullptr) {
        set(description, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, joined.matrix);
        set(description, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, static_cast<std::int64_t>(joined.matrix_stride));
    }
    return description;
}

ProductLibrary::Lt::Algorithm& ProductLibrary::Lt::algorithm_of(const GpuProduct& product,
                                                                Description description) {
    const Shape shape = shape_of(product);
    const auto known = algorithms_.find(shape);
    if (known != algorithms_.end()) return known->second;
    return algorithms_.emplace(shape, find_algorithm(product, description)).first->second;
}

// Asks the library for an algorithm. If several blocks share a sum (split-K), their partial sums must have the
// compute type and a fixed order.
ProductLibrary::Lt::Algorithm ProductLibrary::Lt::find_algorithm(const GpuProduct& product,
                                                                 Description& description) const {
    cublasLtMatmulPreferenceOpaque_t preference{};
    check(calls_.init_preference(&preference, sizeof preference), "cublasLtMatmulPreferenceInit");
    const auto prefer = [&](cublasLtMatmulPreferenceAttributes_t attribute, auto value) {
        check(calls_.set_preference(&preference, attribute, &value, sizeof value),
              "cublasLtMatmulPreferenceSetAttribute");
    };
    const auto alignment = static_cast<std::uint32_t>(alignment_of_matrices(product));
    const auto of_parts = static_cast<std::uint32_t>(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE);
    prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, workspace_bytes);
    prefer(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, of_parts);
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignment);
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignment);
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignment);
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignment);
    cublasLtMatmulHeuristicResult_t best{};
    int found = 0;
    const cublasStatus_t status =
        calls_.find_algorithms(handle_, &description.product, &description.right, &description.left,
                               &description.result, &description.result, &preference, 1, &best, &found);
    const bool is_joined = joined_to(product).epilogue != CUBLASLT_EPILOGUE_DEFAULT;
    const bool is_refused = is_joined && status != CUBLAS_STATUS_SUCCESS;
    if (status == CUBLAS_STATUS_NOT_SUPPORTED || is_refused) return std::nullopt;
    check(status, "cublasLtMatmulAlgoGetHeuristic");
    if (found == 0 || best.state != CUBLAS_STATUS_SUCCESS) return std::nullopt;
    return best.algo;
}

cublasStatus_t ProductLibrary::Lt::multiply_by(const cublasLtMatmulAlgo_t& algorithm, device::GpuQueue& queue,
                                               const GpuProduct& product, Description& description) {
    void* const made = made_by(product).data;
    const auto run = [&](auto one, auto kept) {
        return calls_.multiply(handle_, &description.product, &one, product.right.data, &description.right,
                               product.left.data, &description.left, &kept, made, &description.result, made,
                               &description.result, &algorithm, workspace_, workspace_bytes,
                               static_cast<cudaStream_t>(queue.native()));
    };
    if (product.left.dtype == device::DType::f64) return run(1.0, product.accumulate ? 1.0 : 0.0);
    return run(1.0F, product.accumulate ? 1.0F : 0.0F);
}

// Algorithms read the fused operands in units of 16 bytes, and some types have no algorithm with fused
// operations.
bool ProductLibrary::Lt::multiply_joined(device::GpuQueue& queue, const GpuProduct& product) {
    if (!product.result.is_present()) return true;
    const Joined joined = joined_to(product);
    const bool is_aligned = alignment_of(joined.vector) >= 16 && alignment_of(joined.matrix) >= 16;
    if (!is_aligned || joined.matrix_stride % 8 != 0 || product.depth() == 0) return false;
    Description own = described(product);
    Algorithm& algorithm = algorithm_of(product, own);
    if (!algorithm) return false;
    const cublasStatus_t status = multiply_by(*algorithm, queue, product, own);
    const bool is_refused = status == CUBLAS_STATUS_NOT_SUPPORTED || status == CUBLAS_STATUS_INVALID_VALUE;
    if (is_refused) algorithm.reset();
    if (!is_refused) check(status, "cublasLtMatmul");
    return !is_refused;
}

void ProductLibrary::Lt::multiply(device::GpuQueue& queue, const GpuProduct& product) {
    if (!product.result.is_present()) return;
    Description own = described(product);
    const Algorithm& algorithm = algorithm_of(product, own);
    if (!algorithm) {
        throw ResourceError(cat("cuBLASLt knows no way to multiply ", product.result.rows, " x ",
                                product.depth(), " by ", product.depth(), " x ", product.result.columns,
                                " matrices of ", name_of(product.left.dtype)));
    }
    check(multiply_by(*algorithm, queue, product, own), "cublasLtMatmul");
}

ProductLibrary::ProductLibrary() : lt_(std::make_unique<Lt>()) {}
ProductLibrary::~ProductLibrary() = default;
std::size_t ProductLibrary::bytes() { return workspace_bytes; }
void ProductLibrary::multiply(device::GpuQueue& queue, const GpuProduct& product) {
    lt_->multiply(queue, product);
}
bool ProductLibrary::multiply_joined(device::GpuQueue& queue, const GpuProduct& product) {
    return lt_->multiply_joined(queue, product);
}

}  // namespace trireme::kernels
