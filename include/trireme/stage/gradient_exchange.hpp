// The gradient reduce-scatter of a rank, bucket by bucket, which overlaps with the rank's backward passes. The
// rows of a bucket are divided into shards among the holders of the bucket (layout/pieces.hpp): every holder
// receives the gradients of its own shards from the other holders and adds them in rank order.
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

// One group per set of holders to which this rank belongs; the key is the ascending list of ranks.
using DataGroups = std::map<std::vector<int>, std::unique_ptr<comm::Communicator>>;

// Collective over the holders of each bucket that has several holders; every rank of the job calls this. Makes
// the groups in the order of the buckets.
DataGroups make_data_groups(const comm::Session& session, const std::vector<layout::Bucket>& buckets,
                            device::WaitPolicy wait_policy);

// The tensors that the ranks hold, and the buckets in which their gradients are reduced; equal on all ranks.
struct GradientPlan {
    std::vector<layout::HeldTensor> tensors;
    std::vector<layout::Piece> pieces;
    std::vector<layout::Bucket> buckets;
};

class GradientExchange {
public:
    // `specs`, `values` and `gradients` are the parameters of rank `rank`, their weights and their gradients.
    // `groups` has a group for each bucket of this rank that has several holders. All arguments outlive the
    // exchange.
    GradientExchange(const GradientPlan& plan, int rank, const std::vector<model::ParameterSpec>& specs,
                     const model::ParameterTensors& values, const model::ParameterTensors& gradients,
                     const DataGroups& groups, device::MemorySpace memory_space);
    ~GradientExchange();
    GradientExchange(GradientExchange&& other) noexcept;

    // Shards whose gradients this rank sums, in the order of the buckets.
    const std::vector<optim::ParameterShard>& own_shards() const;
    std::size_t bytes() const;  // bytes of its buffers

    // Sets the queue on which kernels compute the gradients on a GPU; the queue outlives the exchange. The
    // exchange waits until the queue is empty before it copies tensors.
    void set_compute_queue(const device::GpuQueue& queue);

    // Begins a step, in which no gradient is complete. If `may_start` is false, no transfer starts before
    // allow_start() is called: the holders of a bucket must have finished the transfers of the step before.
    void begin_step(bool may_start = true);
    void allow_start();
    // Marks parameters (indices in `specs`) whose gradients will not change any more in this step. Starts the
    // transfers of buckets that are now complete, in bucket order within each group, while slots are free.
    // Never waits.
    void mark_complete(const std::vector<std::size_t>& parameters);
    // Progresses in-flight transfers, and starts the transfers of complete buckets while slots are free. Never
    // waits.
    void progress();
    // Returns true if all parameters are complete and the own shards of `gradients` hold the sums over all
    // holders.
    bool is_finished() const;
    // Waits until the own shards of `gradients` hold the sums over all holders. All parameters must be
    // complete.
    void finish();

    // Collective over the holders of each bucket. All-gather the summed gradients, or the updated weights.
    void all_gather_gradients();
    void all_gather_values();

private:
    struct State;
    std::unique_ptr<State> state_;
};

// Sizes of the GradientExchange of one rank.
struct ExchangeSize {
    std::size_t bytes = 0;                     // GradientExchange::bytes()
    std::vector<std::size_t> own_shards = {};  // number of elements of each of own_shards()
};

// Returns the sizes for each rank of `ranks`, which are ascending and hold equal slices of the same tensors.
// `parameters` are those of any of these ranks.
std::vector<ExchangeSize> predict_exchange_sizes(const GradientPlan& plan, const std::vector<int>& ranks,
                                                 const LocalParameters& parameters);

}  // namespace trireme::stage
