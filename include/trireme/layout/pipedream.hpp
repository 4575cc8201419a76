// PipeDream's planner: chooses the layers of each stage and the number of ranks that hold the stage (Narayanan
// et al., 2019, section 3.1).
#pragma once

#include <cstddef>
#include <vector>

#include "trireme/layout/layout.hpp"
#include "trireme/layout/links.hpp"
#include "trireme/layout/partition.hpp"

namespace trireme::layout {

struct PipedreamRules {
    int ranks = 1;
    std::vector<LinkLevel> links = {};  // see LinkLevel; if empty, communication takes no time
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
//   messages   M times over one link: output rows to the next stage, and the gradients of these rows back
//
// Links form levels: for example, links between the ranks of a node, then links between nodes. The planner
// first finds the best pipeline within a node for every run of consecutive layers. If several nodes hold the
// same run, each of them repeats the same pipeline, with the same stages. Below, 2 nodes of 2 ranks hold 2
// stages, and | separates the replicas of a stage:
//
//   both nodes hold all layers: stage 0: ranks 0 | 2      each node holds one stage: stage 0: ranks 0 | 1
//                               stage 1: ranks 1 | 3                                 stage 1: ranks 2 | 3
//
// If n nodes repeat a pipeline, a link within a node carries the messages of ceil(M / n) micro-batches. The
// all-reduce between these n nodes uses one link per node, and covers the gradients of the whole run. Replicas
// are ordered such that a micro-batch stays within one of these nodes.
//
// The planner assumes that a rank keeps ceil(b / r) micro-batches in flight besides the one that it computes.
// Here r is the number of replicas of the rank's stage, and b is the number of ranks in later stages. Throws
// ConfigError if every layout exceeds the memory limit, if the groups of a link level do not divide the ranks
// evenly, or if there are more than 1,024 ranks.
PipedreamPlan plan_pipedream_layout(const std::vector<LayerLoad>& layers, const PipedreamRules& rules);

}  // namespace trireme::layout
