// Reduce-scatter of a rank's gradients over the ranks that hold them, bucket by bucket, during its backward
// pass. The rows of a bucket are divided among its holders (layout/pieces.hpp): every holder receives the other
// holders' gradients of its own shards and adds them in rank order.
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

// One group per set of ranks that hold a bucket together, for the sets that this rank belongs to.
using DataGroups = std::map<std::vector<int>, std::unique_ptr<comm::Communicator>>;

// Collective over the holders of each bucket that has several; every rank of the job calls it. Makes the groups
// in the order of the buckets.
DataGroups make_data_groups(const comm::Session& session, const std::vector<layout::Bucket>& buckets,
                            device::Patience patience);

// The tensors that the ranks hold and the buckets that reduce them; equal on all ranks.
struct GradientPlan {
    std::vector<layout::HeldTensor> tensors;
    std::vector<layout::Piece> pieces;
    std::vector<layout::Bucket> buckets;
};

class GradientExchange {
public:
    // `specs`, `values` and `gradients` are those of rank `rank`. `groups` has a group for each of its buckets
    // with several holders. All arguments outlive the exchange.
    GradientExchange(const GradientPlan& plan, int rank, const std::vector<model::ParameterSpec>& specs,
                     const model::ParameterTensors& values, const model::ParameterTensors& gradients,
                     const DataGroups& groups, device::MemorySpace place);
    ~GradientExchange();
    GradientExchange(GradientExchange&& other) noexcept;

    // The shards whose gradients this rank sums, in the order of the buckets.
    const std::vector<optim::ParameterShard>& own_shards() const;
    std::size_t bytes() const;  // of its buffers

    // Sets the queue that computes the tensors on a GPU; it outlives the exchange. The exchange waits for it
    // before it copies tensors.
    void wait_for(const device::GpuQueue& queue);

    // Begins a step: no parameter is complete. With `may_start` false no transfer starts before may_start() is
    // called, because the holders of a bucket exchange sums and values strictly step after step.
    void begin(bool may_start = true);
    void may_start();
    // Marks parameters (numbers in `specs`) whose gradients will not change any more in this step. Starts the
    // buckets that are now complete, in their order within each group, if a slot is free. Never waits.
    void complete(const std::vector<std::size_t>& parameters);
    // Progresses transfers in flight and starts complete buckets if slots are free. Never waits.
    void advance();
    // Returns true if all parameters are complete and the own shards of `gradients` hold their sums.
    bool is_finished() const;
    // Waits until the own shards of `gradients` hold their sums. All parameters must be complete.
    void finish();

    // Collective over the holders of each bucket. All-gather the summed gradients, or the values.
    void share_gradients();
    void share_values();

private:
    struct State;
    std::unique_ptr<State> state_;
};

// Sizes of one rank's GradientExchange.
struct ExchangeSize {
    std::size_t bytes = 0;                     // GradientExchange::bytes()
    std::vector<std::size_t> own_shards = {};  // elements of GradientExchange::own_shards(), per shard
};

// Returns the sizes per rank of `ranks`, which are ascending and hold equal parts of the same tensors. `held`
// has the parameters of any of them.
std::vector<ExchangeSize> exchange_sizes(const GradientPlan& plan, const std::vector<int>& ranks,
                                         const LocalParameters& held);

}  // namespace trireme::stage
