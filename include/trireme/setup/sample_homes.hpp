// Gives the samples of a home to the ranks of one node, so that the cache of this node holds all of them.
#pragma once

#include <vector>

#include "trireme/data/sample_index.hpp"
#include "trireme/setup/setup.hpp"

namespace trireme::setup {

std::size_t count_nodes(const Job& job);

// Returns the cache of a rank of this process, which it shares with the other ranks of its node; null without a
// cache.
cache::SampleCache* find_cache(const Job& job, int rank);

// The nodes of a job have numbers in the order of their lowest ranks. The training samples of home `h` belong
// to node number `h % nodes`.
class SampleHomes {
public:
    SampleHomes(const Job& job, const plan::Plan& plan);

    // Exchanges samples between the micro-batches of a step, whose first visit is `first_visit`, so that the
    // replicas on each node execute the samples of the node, as far as the micro-batches have places for them.
    // The replicas are those of the stage that uses the cache, or of the first stage if no stage uses it. If
    // micro-batches are formed by time, only samples of equal length are exchanged. Without several homes and
    // nodes, nothing is exchanged.
    void bring_home(std::uint64_t first_visit, std::vector<std::vector<plan::SampleVisit>>& microbatches) const;

private:
    const Job& job_;
    data::Sampler sampler_;
    std::size_t nodes_;
    std::vector<std::size_t> node_of_microbatch_ = {};  // empty if there is only one home or one node
};

// Returns, per training sample, whether it belongs to the node whose lowest rank is `node`. With one home, all
// samples belong to all nodes.
std::vector<bool> list_samples_of_node(const Job& job, int node);

}  // namespace trireme::setup
