// cuBLASLt counts columns first: to it a matrix of ours is its transpose, and result = left right is
// result^T = right^T left^T.
#include <cublasLt.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "kernels/cuda/gpu_product.hpp"
#include "kernels/cuda/gpu_work.hpp"
#include "kernels/cuda/product_library.hpp"
#include "trireme/device/shared_library.hpp"

namespace trireme {
namespace {

constexpr std::size_t workspace_bytes = std::size_t{32} << 20;  // what Hopper's algorithms want

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

Types types_of(DType dtype) {
    switch (dtype) {
        case DType::bf16:
            return {CUDA_R_16BF, CUBLAS_COMPUTE_32F, CUDA_R_32F};
        case DType::f32:
            return {CUDA_R_32F, CUBLAS_COMPUTE_32F, CUDA_R_32F};
        case DType::f64:
            return {CUDA_R_64F, CUBLAS_COMPUTE_64F, CUDA_R_64F};
        default:
            throw BugError(cat("matrices of ", name_of(dtype), " are not multiplied"));
    }
}

std::string library_name() { return cat("libcublasLt.so.", CUBLAS_VER_MAJOR); }

// All that an algorithm depends on.
using Shape = std::tuple<std::size_t, std::size_t, std::size_t, std::size_t, std::size_t, std::size_t, DType,
                         DType, bool, bool, bool, bool, std::size_t>;

// The largest power of two, up to 256, that divides an address: algorithms differ in what they ask for.
std::size_t alignment_of(const void* address) {
    const auto bits = reinterpret_cast<std::uintptr_t>(address) | 256U;
    return bits & (~bits + 1);
}

Shape shape_of(const GpuProduct& p) {
    const std::size_t alignment =
        std::min({alignment_of(p.left.data), alignment_of(p.right.data), alignment_of(p.result.data)});
    return {p.result.rows,   p.result.columns,    p.depth(),      p.left.stride,        p.right.stride,
            p.result.stride, p.left.dtype,        p.result.dtype, p.is_left_transposed, p.is_right_transposed,
            p.accumulate,    p.bias.is_present(), alignment};
}

}  // namespace

class ProductLibrary::Lt {
public:
    Lt() : library_({library_name(), "libcublasLt.so"}, "multiplying matrices on the GPU") {
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
        workspace_ = take_gpu_memory(workspace_bytes);
    }
    ~Lt() {
        give_back_gpu_memory(workspace_);
        calls_.destroy(handle_);
    }
    Lt(const Lt&) = delete;
    Lt& operator=(const Lt&) = delete;

    void multiply(GpuQueue& queue, const GpuProduct& product);

private:
    struct Matrices {
        cublasLtMatmulDesc_t product;
        cublasLtMatrixLayout_t right, left, result;
    };

    void check(cublasStatus_t status, const char* call) const {
        if (status == CUBLAS_STATUS_SUCCESS) return;
        throw ResourceError(cat(call, " failed: ", calls_.name_of(status)));
    }
    template <class Value>
    void set(cublasLtMatmulDescOpaque_t& product, cublasLtMatmulDescAttributes_t attribute, Value value) const {
        check(calls_.set_product(&product, attribute, &value, sizeof value), "cublasLtMatmulDescSetAttribute");
    }
    cublasLtMatrixLayoutOpaque_t layout_of(const ConstTensor& matrix) const {
        cublasLtMatrixLayoutOpaque_t layout{};
        check(calls_.init_layout(&layout, sizeof layout, types_of(matrix.dtype).numbers, matrix.columns,
                                 matrix.rows, static_cast<std::int64_t>(matrix.stride)),
              "cublasLtMatrixLayoutInit");
        return layout;
    }
    cublasLtMatmulDescOpaque_t product_of(const GpuProduct& product) const;
    const cublasLtMatmulAlgo_t& algorithm_of(const GpuProduct& product, const Matrices& matrices);

    SharedLibrary library_;
    Calls calls_;
    cublasLtHandle_t handle_ = nullptr;
    std::byte* workspace_ = nullptr;
    std::map<Shape, cublasLtMatmulAlgo_t> algorithms_;
};

cublasLtMatmulDescOpaque_t ProductLibrary::Lt::product_of(const GpuProduct& product) const {
    cublasLtMatmulDescOpaque_t description{};
    const Types types = types_of(product.left.dtype);
    check(calls_.init_product(&description, sizeof description, types.sums, types.scale),
          "cublasLtMatmulDescInit");
    set(description, CUBLASLT_MATMUL_DESC_TRANSA, product.is_right_transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
    set(description, CUBLASLT_MATMUL_DESC_TRANSB, product.is_left_transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
    if (product.bias.is_present()) {
        set(description, CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
        set(description, CUBLASLT_MATMUL_DESC_BIAS_POINTER, product.bias.data);
        set(description, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, static_cast<std::int32_t>(types.numbers));
    }
    return description;
}

const cublasLtMatmulAlgo_t& ProductLibrary::Lt::algorithm_of(const GpuProduct& product,
                                                             const Matrices& matrices) {
    const Shape shape = shape_of(product);
    const auto known = algorithms_.find(shape);
    if (known != algorithms_.end()) return known->second;
    cublasLtMatmulPreferenceOpaque_t preference{};
    check(calls_.init_preference(&preference, sizeof preference), "cublasLtMatmulPreferenceInit");
    const auto prefer = [&](cublasLtMatmulPreferenceAttributes_t attribute, auto value) {
        check(calls_.set_preference(&preference, attribute, &value, sizeof value),
              "cublasLtMatmulPreferenceSetAttribute");
    };
    prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, workspace_bytes);
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES,
           static_cast<std::uint32_t>(alignment_of(product.right.data)));
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
           static_cast<std::uint32_t>(alignment_of(product.left.data)));
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES,
           static_cast<std::uint32_t>(alignment_of(product.result.data)));
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES,
           static_cast<std::uint32_t>(alignment_of(product.result.data)));
    cublasLtMatmulHeuristicResult_t best{};
    int found = 0;
    check(calls_.find_algorithms(handle_, matrices.product, matrices.right, matrices.left, matrices.result,
                                 matrices.result, &preference, 1, &best, &found),
          "cublasLtMatmulAlgoGetHeuristic");
    if (found == 0) {
        throw ResourceError(cat("cuBLASLt knows no way to multiply ", product.result.rows, " x ",
                                product.depth(), " by ", product.depth(), " x ", product.result.columns,
                                " matrices of ", name_of(product.left.dtype)));
    }
    return algorithms_.emplace(shape, best.algo).first->second;
}

void ProductLibrary::Lt::multiply(GpuQueue& queue, const GpuProduct& product) {
    cublasLtMatmulDescOpaque_t description = product_of(product);
    cublasLtMatrixLayoutOpaque_t right = layout_of(product.right);
    cublasLtMatrixLayoutOpaque_t left = layout_of(product.left);
    cublasLtMatrixLayoutOpaque_t result = layout_of(product.result);
    const cublasLtMatmulAlgo_t& algorithm =
        algorithm_of(product, {.product = &description, .right = &right, .left = &left, .result = &result});
    const auto run = [&](auto one, auto kept) {
        check(calls_.multiply(handle_, &description, &one, product.right.data, &right, product.left.data, &left,
                              &kept, product.result.data, &result, product.result.data, &result, &algorithm,
                              workspace_, workspace_bytes, static_cast<cudaStream_t>(queue.native())),
              "cublasLtMatmul");
    };
    if (product.left.dtype == DType::f64) return run(1.0, product.accumulate ? 1.0 : 0.0);
    run(1.0F, product.accumulate ? 1.0F : 0.0F);
}

ProductLibrary::ProductLibrary() : lt_(std::make_unique<Lt>()) {}
ProductLibrary::~ProductLibrary() = default;
void ProductLibrary::multiply(GpuQueue& queue, const GpuProduct& product) { lt_->multiply(queue, product); }

}  // namespace trireme
