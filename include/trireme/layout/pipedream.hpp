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
    std::vector<LinkLevel> links = {};  // if empty, communication takes no time
    int microbatches = 1;               // per step, divided among the replicas of a stage
    std::size_t memory_limit = 0;       // bytes per rank; 0 means no limit
    bool stashes_weights = false;       // each in-flight micro-batch has its own version of the parameters
};

struct PipedreamPlan {
    Layout layout;
    double seconds = 0;  // predicted seconds per step: see plan_pipedream_layout()
};

// Returns a layout that uses all ranks; each replica of a stage has one rank. As in the paper, all work of a
// step is assumed to overlap, so a step takes as long as its longest activity. The layout minimizes this time.
// The activities of a stage with r replicas, in a step of M micro-batches, are
//
//   compute    on each rank: ceil(M / r) forward and backward passes, and 1 / r of the update
//   reduce     all-reduce of the stage's gradients over its replicas: see predict_all_reduce_seconds()
//   messages   M times: output rows to the next stage and their gradients back, all over one link
//
// Links form levels: the ranks of a node, then the nodes. The planner first finds the best pipeline within a
// node for every run of consecutive layers. If several nodes hold the same run, each of them repeats the same
// pipeline, with the same stages:
//
//   2 nodes of 2 ranks      stage 0: ranks 0 | 2         or, for example,      stage 0: ranks 0 | 1
//                           stage 1: ranks 1 | 3                               stage 1: ranks 2 | 3
//
// If n nodes repeat a pipeline, a link within a node carries the messages of ceil(M / n) micro-batches. The
// all-reduce between these nodes covers the gradients of their whole run, over one link per node. Replicas are
// ordered such that a micro-batch stays within its node.
//
// The planner assumes that a rank keeps ceil(b / r) micro-batches in flight besides the one that it computes,
// where r is the number of replicas of its stage, and b the number of ranks in later stages. Throws ConfigError
// if every layout exceeds the memory limit, if the groups of a link level do not divide the ranks evenly, or if
// there are more than 1,024 ranks.
PipedreamPlan plan_pipedream_layout(const std::vector<LayerLoad>& layers, const PipedreamRules& rules);

}  // namespace trireme::layout
