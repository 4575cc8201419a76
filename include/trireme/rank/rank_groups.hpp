// The groups (communicators) in which a rank communicates under a plan. They are freed when the plan changes.
#pragma once

#include <memory>
#include <vector>

#include "trireme/comm/communicator.hpp"
#include "trireme/comm/nccl.hpp"
#include "trireme/comm/progress_engine.hpp"
#include "trireme/comm/session.hpp"
#include "trireme/plan/plan.hpp"
#include "trireme/stage/gradient_exchange.hpp"

namespace trireme::rank {

struct RankGroups {
    std::vector<int> pipe;  // this rank and those with which it exchanges micro-batches; see find_pipes()
    std::unique_ptr<comm::Communicator> activations;  // of the ranks of `pipe`
    std::unique_ptr<comm::Communicator> gradients;    // of the ranks of `pipe`
    std::unique_ptr<comm::Communicator> tensor;  // of the ranks of the team; null if this rank is alone in it
    // The ranks that agree on the gradient norm of an update: all ranks, or those of one stage if stages
    // update independently.
    std::unique_ptr<comm::Communicator> update;
    std::unique_ptr<comm::Communicator> record;  // of all ranks, for the records of steps
    stage::DataGroups data;                      // of the holders of each bucket
};

// The objects that groups use. They must outlive the groups.
struct GroupResources {
    device::WaitPolicy wait_policy = {};
    // The following are set if the tensors of the rank are on a GPU.
    device::GpuQueue* queue = nullptr;
    comm::ProgressEngine* progress_engine = nullptr;
    std::shared_ptr<const comm::NcclLibrary> nccl = {};  // null if messages are staged through host memory
};

// Collective over all ranks. Each rank makes its groups in the order pipe, team, update, record, buckets. An
// idle rank is only in the groups of all ranks; if stages update independently, its update group has no other
// rank.
RankGroups make_groups(const comm::Session& session, const plan::Plan& plan,
                       const std::vector<layout::Bucket>& buckets, const GroupResources& resources);

// Returns the sets of ranks that exchange activations of micro-batches, directly or through other ranks. Each
// set is sorted. In a pipe x data x tensor layout, each set is one data-parallel replica of the whole model.
std::vector<std::vector<int>> find_pipes(const plan::Plan& plan);

}  // namespace trireme::rank
