#include "device/cuda/check_cuda.hpp"

namespace trireme::device {
namespace {

const char* find_advice(cudaError_t code) {
    switch (code) {
        case cudaErrorECCUncorrectable:
        case cudaErrorHardwareStackError:
            return "; nvidia-smi and the node's log say more; start again with --resume on another node";
        case cudaErrorDevicesUnavailable:
            return "; another process may use the GPU exclusively: give each rank a GPU of its own, or let "
                   "processes share a GPU with nvidia-smi --compute-mode=DEFAULT";
        case cudaErrorNoKernelImageForDevice:
        case cudaErrorUnsupportedPtxVersion:
            return "; build with this GPU's capability among TRIREME_CUDA_ARCHITECTURES";
        case cudaErrorInsufficientDriver:
            return "; the driver is older than the CUDA that this program was built with";
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
