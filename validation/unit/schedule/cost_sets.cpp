#include "unit/schedule/cost_sets.hpp"

namespace trireme::schedule {
namespace {

using Costs = std::vector<StageCost>;

PipelineShape row(int pipe, int microbatches) { return make_grid_shape(pipe, 1, 1, microbatches); }
PipelineShape chunks(int pipe, int count, int microbatches) {
    return make_grid_shape(pipe, 1, count, microbatches);
}

PipelineShape with_bound(PipelineShape shape, int max_activations) {
    shape.max_activations.assign(static_cast<std::size_t>(shape.teams), max_activations);
    return shape;
}

Costs equal(int stages, const StageCost& cost = {}) { return Costs(static_cast<std::size_t>(stages), cost); }

Costs with_last(Costs costs, const StageCost& last) {
    costs.back() = last;
    return costs;
}

// Sets the costs of messages between all stages, of gradient reductions and of updates.
Costs with_others(Costs costs, double send, double reduce = 0, double step = 0) {
    for (StageCost& cost : costs) {
        cost.send = send;
        cost.reduce = reduce;
        cost.step = step;
    }
    return costs;
}

constexpr StageCost block{4, 4, 4};
constexpr StageCost head{1, 9, 8};  // computes its logits in the backward pass
constexpr StageCost skewed{10, 11, 9};
constexpr StageCost recomputing{2, 4, 2};  // repeats its forward before its input half
constexpr StageCost frozen{2, 2, 0};
constexpr StageCost short_weights{2, 3, 1};

std::vector<CostSet> equal_stages() {
    return {{"2 teams", row(2, 4), equal(2)},
            {"4 teams", row(4, 8), equal(4)},
            {"4 teams, memory of 1F1B", with_bound(row(4, 8), 4), equal(4)},
            {"4 teams, little memory", with_bound(row(4, 8), 3), equal(4)},
            {"8 teams, fewer micro-batches", row(8, 4), equal(8)},
            {"8 teams, skewed, some memory", with_bound(row(8, 24), 11), equal(8, skewed)},
            {"8 teams, short weight halves, some memory", with_bound(row(8, 16), 11), equal(8, short_weights)},
            {"4 teams, frozen", row(4, 8), equal(4, frozen)},
            {"6 teams, recomputing", with_bound(row(6, 12), 6), equal(6, recomputing)},
            {"6 teams, recomputing, little memory", with_bound(row(6, 12), 4), equal(6, recomputing)}};
}

std::vector<CostSet> unequal_stages() {
    const Costs all_different{{3, 4, 2}, {7, 8, 6}, {5, 5, 5}, {2, 3, 2}, {6, 6, 7}, {4, 5, 4}, {1, 6, 5}};
    return {
        {"3 teams, expensive head", row(3, 9), with_last(equal(3, block), head)},
        {"4 teams, expensive head, little memory", with_bound(row(4, 12), 3), with_last(equal(4, block), head)},
        {"5 teams, busy in the middle",
         with_bound(row(5, 10), 5),
         {{3, 3, 3}, {4, 4, 4}, {6, 7, 6}, {4, 4, 4}, {3, 3, 3}}},
        {"7 teams, all different, some memory", with_bound(row(7, 14), 9), all_different},
        {"7 teams, all different, little memory", with_bound(row(7, 14), 4), all_different}};
}

std::vector<CostSet> slow_messages() {
    return {
        {"4 teams, messages, some memory", with_bound(row(4, 16), 6), equal(4, {1, 1, 1, 0.5})},
        {"8 teams, messages, some memory", with_bound(row(8, 24), 12), with_others(equal(8, skewed), 2)},
        {"6 teams, slow messages", row(6, 12), with_others(equal(6, {2, 2, 2}), 3)},
        {"6 teams, slow messages, some memory", with_bound(row(6, 12), 8), with_others(equal(6, {2, 2, 2}), 3)},
        {"4 teams, expensive head, sums and updates", row(4, 12),
         with_others(with_last(equal(4, block), head), 1, 5, 2)}};
}

std::vector<CostSet> replicas_and_chunks() {
    return {{"2 x 2 teams", make_grid_shape(2, 2, 1, 4), with_others(equal(2), 0, 3, 1)},
            {"4 x 2 teams, messages, some memory", with_bound(make_grid_shape(4, 2, 1, 6), 5),
             with_others(equal(4, block), 2, 6)},
            {"2 teams, 2 chunks", chunks(2, 2, 6), equal(4)},
            {"4 teams, 2 chunks", chunks(4, 2, 8), equal(8)},
            {"4 teams, 2 chunks, messages, memory of interleaved", with_bound(chunks(4, 2, 8), 11),
             with_others(equal(8, {2, 2, 2}), 1)},
            {"3 teams, 3 chunks, expensive head", chunks(3, 3, 9), with_last(equal(9, block), head)}};
}

std::vector<CostSet> stages_of_uneven_teams() {
    return {
        {"3, 3 and 2 replicas", make_uneven_shape({3, 3, 2}, 12), {{3, 3, 3, 1}, {3, 4, 3, 1}, {2, 3, 2, 1}}},
        {"2 replicas and 1", make_uneven_shape({2, 1}, 9), {{6, 7, 5, 1}, {3, 4, 3, 1}}},
        {"1, 2 and 1 replicas",
         with_bound(make_uneven_shape({1, 2, 1}, 8), 3),
         {{2, 2, 2, 0.5}, {4, 4, 4, 0.5}, {1, 3, 2, 0.5}}},
        {"4, 2 and 1 replicas",
         with_bound(make_uneven_shape({4, 2, 1}, 12), 4),
         {{8, 8, 8}, {4, 4, 4}, {2, 2, 2}}}};
}

}  // namespace

std::vector<CostSet> cost_sets() {
    std::vector<CostSet> all;
    for (const auto& sets :
         {equal_stages(), unequal_stages(), slow_messages(), replicas_and_chunks(), stages_of_uneven_teams()}) {
        all.insert(all.end(), sets.begin(), sets.end());
    }
    return all;
}

}  // namespace trireme::schedule
