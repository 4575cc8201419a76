// What a slow tensor rank leaves out of its products: some input channels of the projections of a block, in the
// forward product and in both backward ones, so that no result and no message changes its shape. Heads and
// embeddings leave out nothing, and no evaluation does.
//   Y = X[:,J] W[J,:]      dX[:,J] = dY W[J,:]^T      dW[J,:] += X[:,J]^T dY      bias and its gradient: whole
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

// Names a projection of the model.
struct ProjectionPlace {
    std::size_t block = 0;
    layout::Product product = layout::Product::attention_in;

    friend auto operator<=>(const ProjectionPlace&, const ProjectionPlace&) = default;
};

// A rank's part of a projection.
struct ProjectionShape {
    ProjectionPlace place;
    std::size_t channels = 0;  // that it reads
    kernels::WeightAxes axes = kernels::WeightAxes::in_out;
    std::vector<ParameterSpec> weights = {};  // its matrices, which read the same channels

    std::size_t outputs() const;
};

// What stands for the gradients, of input and of weight, of a channel that was left out.
//   zero      nothing
//   average   the mean over the channels that were kept: for each row of dX, for each output of dW
//   same      what was last computed for the channel in a pass that left others out: of dX where micro-batches
//             have as many rows as the one before; zero where there is no such thing
enum class Filling : std::uint8_t { zero, average, same };

// Channels of one projection.
struct KeptChannels {
    std::vector<std::int32_t> channels = {};  // ascending
    Filling filling = Filling::zero;
    // Of Filling::same, else absent.
    std::vector<device::Tensor> last_weights = {};  // gradients of each matrix, of the last micro-batch
    device::Tensor last_input = {};                 // (most rows, channels): gradient of the last micro-batch
    std::size_t last_rows = 0;                      // that it had

    device::ConstTensor indices() const;  // (kept) i32
};

class Resizing {
public:
    // `most_rows` are a micro-batch's, of all tensor ranks. Filling::same remembers gradients in memory of
    // `place`.
    Resizing(const std::vector<ProjectionShape>& projections, Filling filling, device::DType dtype,
             std::size_t most_rows, device::MemorySpace place);

    // Begins a period, while no micro-batch is in flight: all of its passes leave out the same. The channels of
    // each projection that is named, ascending; the others keep all.
    using Lists = std::map<ProjectionPlace, std::vector<std::int32_t>>;
    void keep(const Lists& lists);
    // How many have begun. The ranks of a team begin them together, whoever of them leaves out something.
    std::size_t period() const { return period_; }

    // Null where nothing is left out.
    KeptChannels* at(const ProjectionPlace& place);

    std::size_t bytes() const;  // that Filling::same remembers
    // That memory, and how many rows the last input of each projection had in it; empty without it.
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

// What a rank remembers of what it leaves out, beside its part of the model: for checkpoints.
struct ResizingState {
    std::size_t period = 0;               // how many have begun behind the first
    std::vector<double> variation = {};   // of the channels of all projections, one after the other
    std::vector<std::uint8_t> kept = {};  // likewise: 1 or 0
    std::vector<std::uint64_t> last_rows =
        {};                                   // of each projection, where gradients are remembered; else empty
    std::vector<device::Tensor> memory = {};  // vectors, where they lie: weights of long ago, and gradients
};

}  // namespace trireme::model
