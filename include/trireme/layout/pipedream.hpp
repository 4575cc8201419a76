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

struct SharedLayers {
    Layout layout;
    double seconds = 0;  // per step, in its slowest part
};

// Returns stages with one or more replicas of one rank each, which together use all ranks. The plan minimizes
// the slowest part of a step. Parts overlap; with r replicas of a stage and M micro-batches they are
//
//   compute    ceil(M / r) passes, and 1 / r of the update
//   reduce     all-reduce of the stage's gradients over its replicas: see sum_seconds()
//   messages   M times its rows onward and their gradient back, as if over one link
//
// Links form levels: the ranks of a node, then the nodes. As in the paper, a level is planned on top of the
// level below: a group of nodes that holds a run of layers repeats the pipeline of one node in each of its
// nodes.
//
//   2 nodes of 2 ranks      stage 0: ranks 0 | 2         or, for example,      stage 0: ranks 0 | 1
//                           stage 1: ranks 1 | 3                               stage 1: ranks 2 | 3
//
// Replicas are ordered such that a micro-batch stays within its node. A stage with b ranks in later stages
// stores ceil(b / r) micro-batches besides the one that it computes. Throws ConfigError if every plan exceeds
// the memory limit, if groups of linked ranks do not divide the ranks, or if there are more than 1,024 ranks.
SharedLayers share_layers(const std::vector<LayerLoad>& layers, const PipedreamRules& rules);

}  // namespace trireme::layout
