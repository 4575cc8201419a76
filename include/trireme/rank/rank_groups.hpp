// The groups (communicators) in which a rank communicates under a plan. The groups are freed when the plan
// changes.
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
    std::vector<int> pipe;  // the sorted ranks of this rank's pipe (see find_pipes()); empty on an idle rank
    std::unique_ptr<comm::Communicator> activations;  // of the ranks of `pipe`; null on an idle rank
    std::unique_ptr<comm::Communicator> gradients;    // of the ranks of `pipe`; null on an idle rank
    // Group of the ranks of this rank's team; null if the team has one rank, and on an idle rank.
    std::unique_ptr<comm::Communicator> tensor;
    // Group of the ranks whose gradients make up the gradient norm of an update. These are all ranks, or the
    // ranks of this rank's stage if stages update independently.
    std::unique_ptr<comm::Communicator> update;
    std::unique_ptr<comm::Communicator> record;  // of all ranks, for the records of steps
    stage::DataGroups data;                      // of the holders of this rank's buckets
};

// Returns the groups that are not null.
std::vector<comm::Communicator*> list_groups(const RankGroups& groups);

// The objects that groups use. `queue` and `progress_engine` must outlive the groups.
struct GroupResources {
    device::WaitPolicy wait_policy = {};
    // The following members are null unless the tensors of the rank are on a GPU.
    device::GpuQueue* queue = nullptr;
    comm::ProgressEngine* progress_engine = nullptr;
    std::shared_ptr<const comm::NcclLibrary> nccl = {};  // null if messages are staged through host memory
};

// Collective over all ranks. Each rank makes its groups in the order pipe, team, update, record, buckets. An
// idle rank is only in the update and the record group; if stages update independently, its update group has no
// other rank. `buckets` is equal on all ranks.
RankGroups make_groups(const comm::Session& session, const plan::Plan& plan,
                       const std::vector<layout::Bucket>& buckets, const GroupResources& resources);

// Returns the pipes of a plan: the sets of ranks that exchange activations, directly or through other ranks of
// the set. Each set is sorted; idle ranks are in no set. In a pipe x data x tensor layout, the ranks of each
// set hold one data-parallel replica of the whole model.
std::vector<std::vector<int>> find_pipes(const plan::Plan& plan);

}  // namespace trireme::rank
