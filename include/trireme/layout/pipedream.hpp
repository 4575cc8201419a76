// PipeDream's planner: chooses the layers of each stage and the number of ranks that hold it (Narayanan et al.,
// 2019, section 3.1).
#pragma once

#include <cstddef>
#include <vector>

#include "trireme/layout/layout.hpp"
#include "trireme/layout/links.hpp"
#include "trireme/layout/partition.hpp"

namespace trireme::layout {

struct PipedreamRules {
    int ranks = 1;
    std::vector<LinkLevel> links = {};  // if empty, messages take no time
    int microbatches = 1;               // per step, over all replicas
    std::size_t memory_limit = 0;       // bytes per rank; 0 means no limit
    bool stashes_weights = false;       // each in-flight micro-batch has its own version of the parameters
};

struct PipedreamPlan {
    Layout layout;
    double seconds = 0;  // predicted seconds per step: see plan_pipedream_layout()
};

// Returns stages whose replicas have one rank each, and which together use all ranks. As in the paper, all work
// of a step is assumed to overlap, so a step takes as long as its longest activity. The plan minimizes this
// time. With r replicas of a stage and M micro-batches, the activities of the stage are
//
//   compute    ceil(M / r) forward and backward passes, and 1 / r of the update
//   reduce     all-reduce of the stage's gradients over its replicas: see predict_all_reduce_seconds()
//   messages   M times its output rows to the next stage and their gradients back, as if over one link
//
// Links form levels: the ranks of a node, then the nodes. The planner first finds the best pipeline within a
// node for every run of layers. Several nodes that hold the same run of layers all repeat the pipeline of one
// node:
//
//   2 nodes of 2 ranks      stage 0: ranks 0 | 2         or, for example,      stage 0: ranks 0 | 1
//                           stage 1: ranks 1 | 3                               stage 1: ranks 2 | 3
//
// Replicas are ordered such that a micro-batch stays within its node. A stage of r replicas, with b ranks in
// later stages, keeps ceil(b / r) micro-batches in flight besides the one that it computes. Throws ConfigError
// if every plan exceeds the memory limit, if the number of ranks is not a multiple of the group size of a link
// level, or if there are more than 1,024 ranks.
PipedreamPlan plan_pipedream_layout(const std::vector<LayerLoad>& layers, const PipedreamRules& rules);

}  // namespace trireme::layout
