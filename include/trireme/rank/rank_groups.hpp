// The groups in which a rank communicates under a plan. They are freed when the plan changes.
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
    std::vector<int> pipe;  // this rank and those with which it exchanges micro-batches; see pipes_of()
    std::unique_ptr<comm::Communicator> activations;  // ranks of the pipe
    std::unique_ptr<comm::Communicator> gradients;    // ranks of the pipe
    std::unique_ptr<comm::Communicator> tensor;       // ranks of the team; null if this rank is alone in it
    std::unique_ptr<comm::Communicator> update;  // ranks that agree on an update: all ranks, or those of the
                                                 // stage if each stage is updated alone
    std::unique_ptr<comm::Communicator> record;  // all ranks, for the records of steps
    stage::DataGroups data;
};

// The objects with which groups are made. They must outlive the groups.
struct GroupWiring {
    device::Patience patience = {};
    // The following are set if the tensors of the rank are on a GPU.
    device::GpuQueue* queue = nullptr;
    comm::Postman* postman = nullptr;
    std::shared_ptr<const comm::NcclLibrary> nccl = {};  // null if messages are staged through host memory
};

// Collective over all ranks. Each rank makes its groups in the order of pipe, team, update, record and buckets.
// An idle rank is only in the groups of all ranks; if stages are updated alone, it is alone in its update
// group.
RankGroups make_groups(const comm::Session& session, const plan::Plan& plan,
                       const std::vector<layout::Bucket>& buckets, const GroupWiring& wiring);

// Returns the sets of ranks that exchange micro-batches, directly or indirectly, each in ascending order. On a
// grid these are the replicas.
std::vector<std::vector<int>> pipes_of(const plan::Plan& plan);

}  // namespace trireme::rank
