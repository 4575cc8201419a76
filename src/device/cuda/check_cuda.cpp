#include "device/cuda/check_cuda.hpp"

namespace trireme::device {
namespace {

const char* find_advice(cudaError_t code) {
    switch (code) {
        case cudaErrorECCUncorrectable:
        case cudaErrorHardwareStackError:
            return "; see nvidia-smi and the node's log; resume on another node with --resume";
        case cudaErrorDevicesUnavailable:
            return "; another process may use the GPU exclusively: give each rank a GPU of its own, or let "
                   "processes share a GPU with nvidia-smi --compute-mode=DEFAULT";
        case cudaErrorNoKernelImageForDevice:
        case cudaErrorUnsupportedPtxVersion:
            return "; add this GPU's compute capability to TRIREME_CUDA_ARCHITECTURES and build again";
        case cudaErrorInsufficientDriver:
            return "; install a newer NVIDIA driver, or build with an older CUDA";
        default:
            return "";
    }
}

}  // namespace

void check_cuda(cudaError_t code, const char* call, SourcePosition where) {
    if (code == cudaSuccess) return;
    throw ResourceError(
        cat(call, " failed: ", cudaGetErrorString(code), " (", cudaGetErrorName(code), ")", find_advice(code)),
        where);
}

}  // namespace trireme::device
