// PipeDream's planner: which layers make a stage, and how many ranks hold it (Narayanan et al., 2019,
// section 3.1).
#pragma once

#include <cstddef>
#include <vector>

#include "trireme/layout/layout.hpp"
#include "trireme/layout/links.hpp"
#include "trireme/layout/partition.hpp"

namespace trireme::layout {

struct PipedreamRules {
    int ranks = 1;
    std::vector<LinkLevel> links = {};  // none: messages take no time
    int microbatches = 1;               // of a step, over all replicas
    std::size_t memory_limit = 0;       // bytes of a rank; 0: none
    bool stashes_weights = false;       // each micro-batch in flight has its own version of the parameters
};

struct SharedLayers {
    Layout layout;
    double seconds = 0;  // of a step, in its slowest part
};

// Stages of one replica or several, each of one rank, that use all ranks, such that the slowest part of a step
// is as fast as can be. Parts overlap; with r replicas of a stage and M micro-batches they are
//
//   compute    ceil(M / r) passes, and 1 / r of the update
//   sum        of the stage's gradients over its replicas: see sum_seconds()
//   messages   M times its rows onward and their gradient back, as if over one link
//
// Links make levels: a node's ranks, the nodes of all. As in the paper a level is planned on the one below: a
// group of nodes that holds a run of layers is one node's pipeline, once in each of them.
//
//   2 nodes of 2 ranks      stage 0: ranks 0 | 2         or, for example,      stage 0: ranks 0 | 1
//                           stage 1: ranks 1 | 3                               stage 1: ranks 2 | 3
//
// Replicas are listed such that a micro-batch stays within its node. A stage with b ranks behind it keeps
// ceil(b / r) micro-batches beside the one it computes; it may not need more than the limit. Throws ConfigError
// where all do, where groups of linked ranks do not divide the ranks, and for more than 1,024 ranks.
SharedLayers share_layers(const std::vector<LayerLoad>& layers, const PipedreamRules& rules);

}  // namespace trireme::layout
