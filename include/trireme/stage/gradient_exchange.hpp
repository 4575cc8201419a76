// The gradient reduce-scatter of a rank, bucket by bucket, which overlaps with the rank's backward passes. The
// rows of a bucket are divided into shards among the holders of the bucket (layout/pieces.hpp). Every holder
// receives the gradients of its own shards from the other holders and sums them in rank order.
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

// The groups of this rank: one per set of several holders that share a bucket. The key lists the holders'
// ranks, ascending.
using DataGroups = std::map<std::vector<int>, std::unique_ptr<comm::Communicator>>;

// Makes a group of the holders of each bucket that has several holders. The members of a group make it
// together, so that `buckets` must be equal on all ranks, in the same order. Does nothing on a rank that has no
// such bucket.
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
    // `rank` is the number of this rank. `specs` are the parameters of this rank. `values` are the weights of
    // these parameters, and `gradients` are their gradients. `groups` has a group for each bucket of this rank
    // that has several holders. All arguments must outlive the exchange.
    GradientExchange(const GradientPlan& plan, int rank, const std::vector<model::ParameterSpec>& specs,
                     const model::ParameterTensors& values, const model::ParameterTensors& gradients,
                     const DataGroups& groups, device::MemorySpace memory_space);
    ~GradientExchange();
    GradientExchange(GradientExchange&& other) noexcept;

    // Returns the shards whose gradients this rank sums, in the order of the buckets.
    const std::vector<optim::ParameterShard>& own_shards() const;
    std::size_t bytes() const;  // bytes of the transfer buffers
    // Returns the bytes of gradients that this rank has sent since the last call.
    std::size_t take_sent_bytes();

    // Sets the queue on which kernels compute the gradients on a GPU; the queue must outlive the exchange.
    // Before the exchange copies tensors, it waits until the queue is empty.
    void set_compute_queue(const device::GpuQueue& queue);

    // Begins a step: marks all gradients as incomplete. If `may_start` is false, no transfer starts before
    // allow_start() is called. This is needed while another exchange still reduces the previous step over the
    // same groups. This rank must finish those transfers before transfers of this step may start. Throws
    // BugError if this exchange has transfers in flight.
    void begin_step(bool may_start = true);
    void allow_start();
    // Marks `parameters` (indices in `specs`) as complete: their gradients will not change any more in this
    // step. Each parameter may be marked once per step. A bucket is complete if all its parameters are
    // complete. Starts the transfers of complete buckets, in bucket order within each group, while transfer
    // buffers are free. Never waits for messages.
    void mark_complete(const std::vector<std::size_t>& parameters);
    // Progresses in-flight transfers, and starts transfers as mark_complete() does. Never waits for
    // messages.
    void progress();
    // Returns true if all parameters are complete and own_shards() of `gradients` hold the sums over all
    // holders.
    bool is_finished() const;
    // Waits until own_shards() of `gradients` hold the sums over all holders. All parameters must be complete,
    // and transfers must be allowed to start; otherwise throws BugError.
    void finish();

    // Collective over the holders of each bucket. All-gather the summed gradients into `gradients`, or the
    // updated weights into `values`. Throw BugError if transfers are in flight.
    void all_gather_gradients();
    void all_gather_values();

private:
    struct State;
    std::unique_ptr<State> state_;
};

// Sizes of the GradientExchange of one rank.
struct ExchangeSize {
    std::size_t bytes = 0;                     // GradientExchange::bytes()
    std::vector<std::size_t> own_shards = {};  // one entry per own shard: its number of elements
};

// Returns one entry per rank in `ranks`. The list `ranks` is ascending and not empty, and all of its ranks hold
// equal slices of the same tensors. `parameters` are the parameters of any of these ranks.
std::vector<ExchangeSize> predict_exchange_sizes(const GradientPlan& plan, const std::vector<int>& ranks,
                                                 const LocalParameters& parameters);

}  // namespace trireme::stage
