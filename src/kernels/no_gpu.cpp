// Stubs of the GPU kernels for a build without CUDA. They are never called, because no CudaStream exists there.
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

[[noreturn]] void complain() { throw BugError("a program without CUDA has a stream on a GPU"); }

}  // namespace

void run(device::CudaStream& /*stream*/, const Activation& /*op*/) { complain(); }
void run(device::CudaStream& /*stream*/, const ActivationBackward& /*op*/) { complain(); }
void run(device::CudaStream& /*stream*/, const SiluGate& /*op*/) { complain(); }
void run(device::CudaStream& /*stream*/, const SiluGateBackward& /*op*/) { complain(); }
void run(device::CudaStream& /*stream*/, const Attention& /*op*/) { complain(); }
void run(device::CudaStream& /*stream*/, const AttentionBackward& /*op*/) { complain(); }
void run(device::CudaStream& /*stream*/, const ChannelChange& /*op*/) { complain(); }
void run(device::CudaStream& /*stream*/, const GatherColumns& /*op*/) { complain(); }
void run(device::CudaStream& /*stream*/, const ScatterColumns& /*op*/) { complain(); }
void run(device::CudaStream& /*stream*/, const CrossEntropy& /*op*/) { complain(); }
void run(device::CudaStream& /*stream*/, const ResidualAdd& /*op*/) { complain(); }
void run(device::CudaStream& /*stream*/, const DropoutBackward& /*op*/) { complain(); }
void run(device::CudaStream& /*stream*/, const Embedding& /*op*/) { complain(); }
void run(device::CudaStream& /*stream*/, const EmbeddingBackward& /*op*/) { complain(); }
void run(device::CudaStream& /*stream*/, const Fill& /*op*/) { complain(); }
void run(device::CudaStream& /*stream*/, const FillNormal& /*op*/) { complain(); }
void run(device::CudaStream& /*stream*/, const ImageRows& /*op*/) { complain(); }
void run(device::CudaStream& /*stream*/, const ImageRowsBackward& /*op*/) { complain(); }
void run(device::CudaStream& /*stream*/, const Linear& /*op*/) { complain(); }
void run(device::CudaStream& /*stream*/, const LinearBackwardInput& /*op*/) { complain(); }
void run(device::CudaStream& /*stream*/, const LinearBackwardWeight& /*op*/) { complain(); }
void run(device::CudaStream& /*stream*/, const ColumnSums& /*op*/) { complain(); }
bool joins_activation(const device::CudaStream& /*stream*/, device::DType /*dtype*/, ActivationKind /*kind*/) {
    return false;
}
void run(device::CudaStream& /*stream*/, const LogitStatistics& /*op*/) { complain(); }
void run(device::CudaStream& /*stream*/, const MergeLogitStatistics& /*op*/) { complain(); }
void run(device::CudaStream& /*stream*/, const LogitGradients& /*op*/) { complain(); }
void run(device::CudaStream& /*stream*/, const LayerNorm& /*op*/) { complain(); }
void run(device::CudaStream& /*stream*/, const LayerNormBackwardInput& /*op*/) { complain(); }
void run(device::CudaStream& /*stream*/, const LayerNormBackwardWeight& /*op*/) { complain(); }
void run(device::CudaStream& /*stream*/, const RmsNorm& /*op*/) { complain(); }
void run(device::CudaStream& /*stream*/, const RmsNormBackwardInput& /*op*/) { complain(); }
void run(device::CudaStream& /*stream*/, const RmsNormBackwardWeight& /*op*/) { complain(); }
void run(device::CudaStream& /*stream*/, const Rotary& /*op*/) { complain(); }
void run(device::CudaStream& /*stream*/, const GatherRows& /*op*/) { complain(); }
void run(device::CudaStream& /*stream*/, const ScatterRows& /*op*/) { complain(); }
void run(device::CudaStream& /*stream*/, const Copy& /*op*/) { complain(); }
void run(device::CudaStream& /*stream*/, const SpanLoss& /*op*/) { complain(); }
void run(device::CudaStream& /*stream*/, const BestSpan& /*op*/) { complain(); }
void run(device::CudaStream& /*stream*/, std::span<const AdamWUpdate> /*ops*/) { complain(); }
void run(device::CudaStream& /*stream*/, std::span<const SgdUpdate> /*ops*/) { complain(); }
void run(device::CudaStream& /*stream*/, std::span<const SumOfSquares> /*ops*/) { complain(); }

device::Stream gpu_stream() { throw ResourceError(device::find_gpus().complaint); }
std::size_t gpu_stream_bytes() { return 0; }

}  // namespace trireme::kernels
