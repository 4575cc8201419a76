// Resizing: a slow tensor rank skips some input channels of the projections of a block, in the forward matmul
// and in both backward ones. No result and no message changes its shape. Heads, embeddings and evaluation
// passes skip nothing. J are the kept channels:
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
struct ProjectionPlace {
    std::size_t block = 0;
    layout::Product product = layout::Product::attention_in;

    friend auto operator<=>(const ProjectionPlace&, const ProjectionPlace&) = default;
};

// Sizes and weights of a rank's part of a projection.
struct ProjectionShape {
    ProjectionPlace place;
    std::size_t channels = 0;  // input channels
    kernels::WeightAxes axes = kernels::WeightAxes::in_out;
    std::vector<ParameterSpec> weights = {};  // its matrices, which read the same channels

    std::size_t outputs() const;
};

// Substitute for the gradients of input and weight of a skipped channel.
//   zero      zero
//   average   the mean over the kept channels, per row of dX and per output of dW
//   same      the gradient that was last computed for the channel, or zero if there is none; for dX only while
//             consecutive micro-batches have equal numbers of rows
enum class Filling : std::uint8_t { zero, average, same };

// Selected channels of one projection: kept ones, or offloaded ones.
struct KeptChannels {
    std::vector<std::int32_t> channels = {};  // ascending
    Filling filling = Filling::zero;
    // The gradients that were computed last; absent unless the filling is Filling::same.
    std::vector<device::Tensor> last_weights = {};  // per matrix
    device::Tensor last_input = {};                 // (most rows, channels)
    std::size_t last_rows = 0;                      // rows of the last micro-batch

    device::ConstTensor indices() const;  // (kept) i32
};

class Resizing {
public:
    // `most_rows` is the maximum number of rows of a micro-batch over all tensor ranks. Filling::same stores
    // gradients in memory of `place`.
    Resizing(const std::vector<ProjectionShape>& projections, Filling filling, device::DType dtype,
             std::size_t most_rows, device::MemorySpace place);

    // Begins a period, in which all passes skip the same channels; called while no micro-batch is in flight.
    // `lists` has the kept channels per projection, ascending. Projections without a list keep all channels.
    using Lists = std::map<ProjectionPlace, std::vector<std::int32_t>>;
    void keep(const Lists& lists);
    // Number of periods that have begun. All ranks of a team begin a period together, even if only some skip
    // channels.
    std::size_t period() const { return period_; }

    // Returns null if the projection skips no channel.
    KeptChannels* at(const ProjectionPlace& place);

    std::size_t bytes() const;  // memory of Filling::same
    // The memory of Filling::same, and the rows of the last input per projection; empty with other fillings.
    std::vector<device::Tensor> memory() const;
    std::vector<std::uint64_t> last_rows() const;
    void set_last_rows(const std::vector<std::uint64_t>& rows);

private:
    struct Entry {
        std::size_t channels = 0;
        KeptChannels kept;
    };

    std::map<ProjectionPlace, Entry> entries_;
    std::vector<ParameterTensors> memory_;
    std::size_t period_ = 0;
};

// The state of a rank's resizing that checkpoints store beside its part of the model.
struct ResizingState {
    std::size_t period = 0;                     // number of periods that have begun after the first
    std::vector<double> variation = {};         // per channel, projection after projection
    std::vector<std::uint8_t> kept = {};        // per channel, projection after projection: 1 or 0
    std::vector<std::uint64_t> last_rows = {};  // per projection with Filling::same; else empty
    // Views of the rank's own vectors: stored gradients, then the weights at the start of the period.
    std::vector<device::Tensor> memory = {};
};

}  // namespace trireme::model
