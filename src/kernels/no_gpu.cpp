// Stubs of the GPU kernels for a build without CUDA. The run() functions are never called, because
// make_gpu_stream() throws, so no CudaStream exists.
#include "trireme/device/gpu.hpp"
#include "trireme/kernels/activation.hpp"
#include "trireme/kernels/attention.hpp"
#include "trireme/kernels/columns.hpp"
#include "trireme/kernels/cross_entropy.hpp"
#include "trireme/kernels/dropout.hpp"
#include "trireme/kernels/embedding.hpp"
#include "trireme/kernels/fill.hpp"
#include "trireme/kernels/gpu_stream.hpp"
#include "trireme/kernels/image_rows.hpp"
#include "trireme/kernels/linear.hpp"
#include "trireme/kernels/logit_statistics.hpp"
#include "trireme/kernels/norm.hpp"
#include "trireme/kernels/rotary.hpp"
#include "trireme/kernels/rows.hpp"
#include "trireme/kernels/span_loss.hpp"
#include "trireme/kernels/update.hpp"

namespace trireme::kernels {
namespace {

[[noreturn]] void throw_no_gpu() {
    throw BugError("a GPU kernel was launched by a program that was built without CUDA");
}

}  // namespace

void run(device::CudaStream& /*stream*/, const Activation& /*op*/) { throw_no_gpu(); }
void run(device::CudaStream& /*stream*/, const ActivationBackward& /*op*/) { throw_no_gpu(); }
void run(device::CudaStream& /*stream*/, const SiluGate& /*op*/) { throw_no_gpu(); }
void run(device::CudaStream& /*stream*/, const SiluGateBackward& /*op*/) { throw_no_gpu(); }
void run(device::CudaStream& /*stream*/, const Attention& /*op*/) { throw_no_gpu(); }
void run(device::CudaStream& /*stream*/, const AttentionBackward& /*op*/) { throw_no_gpu(); }
void run(device::CudaStream& /*stream*/, const ChannelChange& /*op*/) { throw_no_gpu(); }
void run(device::CudaStream& /*stream*/, const GatherColumns& /*op*/) { throw_no_gpu(); }
void run(device::CudaStream& /*stream*/, const ScatterColumns& /*op*/) { throw_no_gpu(); }
void run(device::CudaStream& /*stream*/, const CrossEntropy& /*op*/) { throw_no_gpu(); }
void run(device::CudaStream& /*stream*/, const ResidualAdd& /*op*/) { throw_no_gpu(); }
void run(device::CudaStream& /*stream*/, const DropoutBackward& /*op*/) { throw_no_gpu(); }
void run(device::CudaStream& /*stream*/, const Embedding& /*op*/) { throw_no_gpu(); }
void run(device::CudaStream& /*stream*/, const EmbeddingBackward& /*op*/) { throw_no_gpu(); }
void run(device::CudaStream& /*stream*/, const Fill& /*op*/) { throw_no_gpu(); }
void run(device::CudaStream& /*stream*/, const FillNormal& /*op*/) { throw_no_gpu(); }
void run(device::CudaStream& /*stream*/, const ImageRows& /*op*/) { throw_no_gpu(); }
void run(device::CudaStream& /*stream*/, const ImageRowsBackward& /*op*/) { throw_no_gpu(); }
void run(device::CudaStream& /*stream*/, const Linear& /*op*/) { throw_no_gpu(); }
void run(device::CudaStream& /*stream*/, const LinearBackwardInput& /*op*/) { throw_no_gpu(); }
void run(device::CudaStream& /*stream*/, const LinearBackwardWeight& /*op*/) { throw_no_gpu(); }
void run(device::CudaStream& /*stream*/, const ColumnSums& /*op*/) { throw_no_gpu(); }
bool fuses_activation(const device::CudaStream& /*stream*/, device::DType /*dtype*/, ActivationKind /*kind*/) {
    return false;
}
void run(device::CudaStream& /*stream*/, const LogitStatistics& /*op*/) { throw_no_gpu(); }
void run(device::CudaStream& /*stream*/, const MergeLogitStatistics& /*op*/) { throw_no_gpu(); }
void run(device::CudaStream& /*stream*/, const LogitGradients& /*op*/) { throw_no_gpu(); }
void run(device::CudaStream& /*stream*/, const LayerNorm& /*op*/) { throw_no_gpu(); }
void run(device::CudaStream& /*stream*/, const LayerNormBackwardInput& /*op*/) { throw_no_gpu(); }
void run(device::CudaStream& /*stream*/, const LayerNormBackwardWeight& /*op*/) { throw_no_gpu(); }
void run(device::CudaStream& /*stream*/, const RmsNorm& /*op*/) { throw_no_gpu(); }
void run(device::CudaStream& /*stream*/, const RmsNormBackwardInput& /*op*/) { throw_no_gpu(); }
void run(device::CudaStream& /*stream*/, const RmsNormBackwardWeight& /*op*/) { throw_no_gpu(); }
void run(device::CudaStream& /*stream*/, const Rotary& /*op*/) { throw_no_gpu(); }
void run(device::CudaStream& /*stream*/, const GatherRows& /*op*/) { throw_no_gpu(); }
void run(device::CudaStream& /*stream*/, const ScatterRows& /*op*/) { throw_no_gpu(); }
void run(device::CudaStream& /*stream*/, const Copy& /*op*/) { throw_no_gpu(); }
void run(device::CudaStream& /*stream*/, const SpanLoss& /*op*/) { throw_no_gpu(); }
void run(device::CudaStream& /*stream*/, const BestSpan& /*op*/) { throw_no_gpu(); }
void run(device::CudaStream& /*stream*/, std::span<const AdamWUpdate> /*ops*/) { throw_no_gpu(); }
void run(device::CudaStream& /*stream*/, std::span<const SgdUpdate> /*ops*/) { throw_no_gpu(); }
void run(device::CudaStream& /*stream*/, std::span<const SumOfSquares> /*ops*/) { throw_no_gpu(); }

device::Stream make_gpu_stream() { throw ResourceError(device::find_gpus().complaint); }
std::size_t count_gpu_stream_bytes() { return 0; }

}  // namespace trireme::kernels
