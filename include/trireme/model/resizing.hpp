// Resizing: a slow tensor rank skips some input channels of the projections of a block, in the forward matmul
// and in both backward matmuls. Shapes of results and messages do not change. Heads, embeddings and evaluation
// passes skip no channels. J are the channels that are not skipped ("kept"), X (rows, channels) is the input, W
// (channels, outputs) the weight, and Y the output:
//   Y = X[:,J] W[J,:]      dX[:,J] = dY W[J,:]^T      dW[J,:] += X[:,J]^T dY      bias: unchanged
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "trireme/device/tensor.hpp"
#include "trireme/kernels/linear.hpp"
#include "trireme/layout/migration.hpp"
#include "trireme/model/parameter.hpp"

namespace trireme::model {

// Identifies a projection of the model.
struct ProjectionId {
    std::size_t block = 0;
    layout::Matmul matmul = layout::Matmul::attention_in;

    friend auto operator<=>(const ProjectionId&, const ProjectionId&) = default;
};

// Sizes and weight specs of a rank's slice of a projection.
struct ProjectionShape {
    ProjectionId id;
    std::size_t channels = 0;  // input channels of this rank
    kernels::WeightAxes axes = kernels::WeightAxes::in_out;
    std::vector<ParameterSpec> weights = {};  // one per matrix; all matrices read the same channels

    std::size_t outputs() const;  // output channels of this rank, of all matrices
};

// The substitute for the gradients of a skipped channel, in the gradient of the input (dX) and of the weight
// (dW).
//   zero      zero
//   average   the mean over the kept channels, per row of dX and per output of dW
//   same      the last stored gradient of the channel, or zero if none is stored; for dX, also zero if the
//             preceding micro-batch had another number of rows. The gradients of kept channels are stored
//             while the projection skips channels.
enum class Filling : std::uint8_t { zero, average, same };

// Some input channels of a rank's slice of a projection: the channels that the rank computes itself, or the
// channels that the rank offloads to one helper rank.
struct SelectedChannels {
    std::vector<std::int32_t> channels = {};  // ascending
    Filling filling = Filling::zero;
    // The last stored gradients of all channels; absent unless the filling is Filling::same.
    std::vector<device::Tensor> last_weight_gradients = {};  // per matrix, with the shape of the weight
    device::Tensor last_input_gradient = {};                 // (maximum rows, all channels)
    std::size_t last_rows = 0;                               // number of rows of the last micro-batch

    device::ConstTensor indices() const;  // `channels` as a tensor: (selected channels) i32
};

// The kept channels of all projections of this rank's stages. If matmuls are offloaded, the kept channels are
// those that this rank computes itself: neither skipped nor offloaded.
class Resizing {
public:
    // `max_rows` is the maximum number of rows of a whole micro-batch, not only of this rank's own rows.
    // Filling::same stores gradients in `memory_space`.
    Resizing(const std::vector<ProjectionShape>& projections, Filling filling, device::DType dtype,
             std::size_t max_rows, device::MemorySpace memory_space);

    // Begins a period, in which all passes skip the same channels. Must be called while no micro-batch is in
    // flight. `lists` has one list of kept channels per projection: at least one channel, in ascending order.
    // Projections without a list keep all channels.
    using ChannelLists = std::map<ProjectionId, std::vector<std::int32_t>>;
    void begin_period(const ChannelLists& lists);
    // Returns the number of calls of begin_period(). All ranks of a team begin each period together, even if
    // only some of them skip channels.
    std::size_t period() const { return period_; }

    // Returns the kept channels of a projection, or null if all channels are kept.
    SelectedChannels* at(const ProjectionId& id);

    // The following are 0 or empty unless the filling is Filling::same.
    std::size_t bytes() const;                                   // of the stored gradients
    std::vector<device::Tensor> list_stored_gradients() const;   // views
    std::vector<std::uint64_t> last_rows() const;                // per projection, ascending by ProjectionId
    void set_last_rows(const std::vector<std::uint64_t>& rows);  // restores a result of last_rows()

private:
    struct Entry {
        std::size_t channels = 0;  // number of all input channels
        SelectedChannels kept;     // its list is empty if all channels are kept
    };

    std::map<ProjectionId, Entry> entries_;
    std::vector<ParameterTensors> stored_gradients_;  // of Filling::same
    std::size_t period_ = 0;
};

// The state of a rank's resizing. Checkpoints store one such state per rank, each in its own file. "Per
// channel" means one value per input channel of this rank, projection after projection in the order of
// stage::Resizer::projections().
struct ResizingState {
    std::size_t period = 0;                     // number of the period; a new run begins with period 0
    std::vector<double> variation = {};         // per channel: see ChannelPolicy
    std::vector<std::uint8_t> kept = {};        // per channel: 1 if it is kept, 0 if it is skipped
    std::vector<std::uint64_t> last_rows = {};  // see Resizing::last_rows()
    // Views of the gradients that Filling::same stores. If the policy needs the weights at the start of the
    // period, one view of all these weights follows.
    std::vector<device::Tensor> memory = {};
};

}  // namespace trireme::model
