// What a rank communicates in: made with a plan, freed with it.
#pragma once

#include <memory>
#include <vector>

#include "trireme/comm/communicator.hpp"
#include "trireme/comm/nccl.hpp"
#include "trireme/comm/postman.hpp"
#include "trireme/comm/session.hpp"
#include "trireme/plan/plan.hpp"
#include "trireme/stage/gradient_exchange.hpp"

namespace trireme::rank {

struct RankGroups {
    std::vector<int> pipe;  // the ranks whose micro-batches meet this one's, itself too
    std::unique_ptr<comm::Communicator> activations;  // among them
    std::unique_ptr<comm::Communicator> gradients;    // among them
    std::unique_ptr<comm::Communicator> tensor;       // none: this rank's team is itself alone
    std::unique_ptr<comm::Communicator> update;  // whose gradients an update waits for: all ranks, or those of
                                                 // the stage where stages are updated alone
    std::unique_ptr<comm::Communicator> record;  // all ranks, of which each says how its steps went
    stage::DataGroups data;
};

// What groups are made with; it outlives them.
struct GroupWiring {
    device::Patience patience = {};
    // Of a rank whose tensors are on a GPU.
    device::GpuQueue* queue = nullptr;
    comm::Postman* postman = nullptr;
    std::shared_ptr<const comm::NcclLibrary> nccl = {};  // none: tensors go by way of the machine's memory
};

// Collective over the ranks of each group; every rank of the job calls it, and makes the groups that it is in,
// in one order: those of the pipes, of the teams, of the updates, of the buckets. An idle rank is in none but
// those of all ranks, and alone in that of an update where stages are updated alone.
RankGroups make_groups(const comm::Session& session, const plan::Plan& plan,
                       const std::vector<layout::Bucket>& buckets, const GroupWiring& wiring);

// The ranks that pass micro-batches to each other, directly or through others; ascending. On a grid those of
// one replica.
std::vector<std::vector<int>> pipes_of(const plan::Plan& plan);

}  // namespace trireme::rank
