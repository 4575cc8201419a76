// The gradients of a rank, summed over all ranks that hold them, bucket by bucket, while its backward pass goes
// on. Each bucket's rows are spread over its holders (layout/pieces.hpp): every holder gets the others'
// gradients of its own shards and adds them in rank order.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "trireme/comm/communicator.hpp"
#include "trireme/comm/session.hpp"
#include "trireme/device/gpu.hpp"
#include "trireme/layout/pieces.hpp"
#include "trireme/optim/optimizer.hpp"
#include "trireme/stage/local_parameters.hpp"

namespace trireme::stage {

// A group for each set of ranks that hold something together, of those that this rank is in.
using DataGroups = std::map<std::vector<int>, std::unique_ptr<comm::Communicator>>;

// Collective over the holders of each bucket with several; every rank of the job calls it. Makes the groups in
// the order of the buckets.
DataGroups make_data_groups(const comm::Session& session, const std::vector<layout::Bucket>& buckets,
                            device::Patience patience);

// What the ranks hold, and how it is summed: the same on every rank.
struct GradientPlan {
    std::vector<layout::HeldTensor> tensors;
    std::vector<layout::Piece> pieces;
    std::vector<layout::Bucket> buckets;
};

class GradientExchange {
public:
    // `specs`, `values` and `gradients` are of rank `rank`, whose group for each of its buckets with several
    // holders is in `groups`. Everything outlives the exchange.
    GradientExchange(const GradientPlan& plan, int rank, const std::vector<model::ParameterSpec>& specs,
                     const model::ParameterTensors& values, const model::ParameterTensors& gradients,
                     const DataGroups& groups, device::MemorySpace place);
    ~GradientExchange();
    GradientExchange(GradientExchange&& other) noexcept;

    // The shards whose gradients this rank adds up, in the order of the buckets.
    const std::vector<optim::ParameterShard>& own_shards() const;
    std::size_t bytes() const;  // of its buffers

    // Of tensors on a GPU: the queue that they are made in, which outlives the exchange. Before the processor
    // copies some of them it waits for it.
    void wait_for(const device::GpuQueue& queue);

    // A new step: nothing is complete. Nothing is started before may_start(), if that is still to come: the
    // holders of a bucket exchange the steps' sums and values one after the other.
    void begin(bool may_start = true);
    void may_start();
    // The last backward pass of the step has left these parameters (numbers in `specs`): their gradients will
    // not change any more. Starts the buckets that are complete by that, in their order within each group, so
    // far as there is room for more in flight; never waits.
    void complete(const std::vector<std::size_t>& parameters);
    // Lets what is in flight go on, and starts what there is room for. Never waits.
    void advance();
    // All parameters are complete, and the own shards of `gradients` hold their sums.
    bool is_finished() const;
    // Waits until the own shards of `gradients` hold their sums. All parameters must be complete.
    void finish();

    // Every holder of a bucket gets the shards of the other holders: of the gradients' sums, or of the values.
    void share_gradients();
    void share_values();

private:
    struct State;
    std::unique_ptr<State> state_;
};

// Sizes of one rank's exchange.
struct ExchangeSize {
    std::size_t bytes = 0;                     // GradientExchange::bytes()
    std::vector<std::size_t> own_shards = {};  // elements of each of GradientExchange::own_shards()
};

// The sizes for each of `ranks`, which ascend and hold equal parts of the same tensors: `held` has the
// parameters of any of them.
std::vector<ExchangeSize> exchange_sizes(const GradientPlan& plan, const std::vector<int>& ranks,
                                         const LocalParameters& held);

}  // namespace trireme::stage
