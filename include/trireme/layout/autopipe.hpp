// AutoPipe and AutoDP of PipeTransformer (He et al., 2021): shorter pipelines while layers freeze, and replicas
// on the freed ranks.
#pragma once

#include <cstddef>
#include <vector>

#include "trireme/layout/layout.hpp"
#include "trireme/layout/partition.hpp"

namespace trireme::layout {

// Size of a frozen parameter relative to a trained one: 0 in the released program, 1/6 in the paper.
struct FrozenWeight {
    std::size_t numerator = 0;
    std::size_t denominator = 1;
};

struct AutopipeRules {
    std::size_t initial_stages = 1;  // stages of a pipeline before any layer is frozen
    FrozenWeight frozen_weight = {};
    std::vector<std::vector<int>> nodes = {};  // ranks of each node
    bool adds_replicas = true;                 // AutoDP: freed ranks become replicas; otherwise they are idle
};

struct AutopipeCut {
    std::vector<std::size_t> layers = {};          // per stage; the first stage has all frozen layers
    std::vector<std::size_t> trained_layers = {};  // per stage; 0 if the first stage is entirely frozen
    // Size of the largest stage: its trained parameters, and its frozen ones times FrozenWeight. The unit is
    // 1 / FrozenWeight::denominator parameter, so that sizes are integers and comparisons are exact.
    std::size_t largest = 0;
};

// Cuts the layers from `first_trained` on into `stages` >= 1 stages, and adds all frozen layers to the first
// stage. Each stage in turn takes layers while its size stays below a bound. The last stage takes the rest. For
// the first of k stages, the bound is (sum + variance) / k. Here `sum` is the size of the trained layers that
// no stage has yet, and `variance` is the population variance of their sizes. A cut never falls inside a
// residual branch, because each half of a block is one layer.
//
// All sizes in the bound are in millions of parameters. The published sum of a size and a variance is
// dimensionally odd, and is useful only for layers of a few million parameters. The result has fewer stages if
// some would have no layer, as large embeddings may cause.
AutopipeCut cut_trained_layers(const std::vector<LayerFacts>& layers, std::size_t first_trained,
                               std::size_t stages, const FrozenWeight& frozen_weight);

// Halves a pipeline of `stages` stages, rounding down, while the largest stage after the halving is within the
// budget. The budget is the largest stage of the pipeline at the start, before any layer was frozen. Returns
// the cut into the final number of stages. Only halvings are compared with the budget: a pipeline that keeps
// its number of stages may exceed it.
AutopipeCut compress_pipeline(const std::vector<LayerFacts>& layers, std::size_t first_trained,
                              std::size_t stages, const AutopipeRules& rules);

// Returns the number of micro-batches per step and pipeline in the released program: 2 per stage for 8 stages,
// 8 per stage for 2 stages, and 4 per stage for other pipelines.
std::size_t count_pipeline_microbatches(std::size_t stages);

// Returns the layout of pipelines that have `stage_layers[s]` layers in stage s. Each pipeline stays within a
// node. Initially, a node has a pipeline for every `initial_stages` of its ranks. Below, one node of 8 ranks
// has a pipeline of 8 stages that shrinks to 3 stages; digits are stages, and dots are idle ranks.
//
//   initially          0 1 2 3 4 5 6 7
//   adds replicas      0 1 2 0 1 2 . .
//   adds no replicas   0 1 2 . . . . .
//
// Throws ConfigError if no node has enough ranks for an initial pipeline, and BugError if the pipelines have
// more stages than the initial ones.
Layout place_pipelines(const std::vector<std::size_t>& stage_layers, const AutopipeRules& rules);

}  // namespace trireme::layout
