#include "ranks/mover/moving_state.hpp"

#include <algorithm>
#include <set>
#include <tuple>

namespace trireme::validation {
namespace {

using Element = std::tuple<std::string, std::size_t, std::size_t>;  // tensor, row, column

// Returns the number of an element; `part` counts values and moments. Numbers are distinct and not 0.
double make_number(std::size_t part, const Element& element) {
    const auto& [tensor, row, column] = element;
    const RandomKey key = RandomKey{part}.then(tensor);
    return 1 + to_unit_interval(random_block(key, row * 1000 + column)[0]);
}

// Calls use(element, reference to its number in memory).
template <class Use>
void for_each_element(const std::vector<mover::BoxInMemory>& boxes, Use&& use) {
    for (const mover::BoxInMemory& place : boxes) {
        const auto& [box, row, column] = place.placement;
        device::visit_float(place.memory.dtype, [&](auto zero) {
            const auto memory = place.memory.as<decltype(zero)>();
            for (std::size_t r = 0; r < box.rows.count; ++r) {
                for (std::size_t c = 0; c < box.columns.count; ++c) {
                    use(Element{place.tensor, box.rows.begin + r, box.columns.begin + c},
                        memory(row + r, column + c));
                }
            }
        });
    }
}

std::set<Element> list_elements(const std::vector<mover::BoxInMemory>& boxes) {
    std::set<Element> elements;
    for_each_element(boxes, [&](const Element& element, auto&) { elements.insert(element); });
    return elements;
}

// Returns ghost groups for the buckets of this rank, because the test reduces no gradient.
stage::DataGroups groups_for(const std::vector<layout::Bucket>& buckets, int rank) {
    stage::DataGroups groups;
    for (const layout::Bucket& bucket : buckets) {
        const auto at = std::ranges::find(bucket.holders, rank);
        if (at == bucket.holders.end()) continue;
        groups.emplace(bucket.holders,
                       comm::make_ghost_group("data", static_cast<int>(at - bucket.holders.begin()),
                                              static_cast<int>(bucket.holders.size())));
    }
    return groups;
}

}  // namespace

MovingState::MovingState(const MovingRules& rules, const layout::Layout& layout, int rank)
    : rules_(rules), rank_(rank) {
    settle(layout);
    const auto made = parts();
    for (std::size_t part = 0; part < made.size(); ++part) {
        for_each_element(made[part], [&](const Element& element, auto& number) {
            number = static_cast<std::remove_reference_t<decltype(number)>>(make_number(part, element));
        });
    }
    if (!optimizer_) return;
    const std::size_t parameters = stages_->parameters().specs().size();
    optimizer_->resume_from(std::vector<std::size_t>(parameters, initial_updates));
}

void MovingState::settle(const layout::Layout& layout, std::optional<model::ParameterTensors> values) {
    plan_ = plan::make_plan({.layout = layout, .shards_optimizer = rules_.shards_optimizer});
    const std::vector<stage::BatchShape> none;
    const setup::SizedPlan sized(rules_.model, *plan_, rules_.dtype, none);
    gradients_ = make_gradient_plan(sized);
    stages_.reset();
    optimizer_.reset();
    const stage::LocalWork work = make_local_work(sized, rank_);
    if (work.team < 0) return;
    stages_ = std::make_unique<stage::LocalStages>(work, nullptr, device::MemorySpace::host, std::move(values));
    const stage::LocalParameters& held = stages_->parameters();
    const stage::DataGroups groups = groups_for(gradients_.buckets, rank_);
    const stage::GradientExchange exchange(gradients_, rank_, held.specs(), held.values(), held.gradients(),
                                           groups, device::MemorySpace::ghost);
    optimizer_.emplace(optim::OptimizerConfig{}, held.specs(),
                       list_updated_shards(sized, exchange, held.specs()), rules_.dtype,
                       device::MemorySpace::host);
}

std::vector<std::vector<mover::BoxInMemory>> MovingState::parts() const {
    if (is_idle()) return {{}, {}, {}};
    const stage::LocalParameters& held = stages_->parameters();
    std::vector<std::vector<mover::BoxInMemory>> all{rank::list_boxes(held.specs(), held.values())};
    for (const model::ParameterTensors& moments : optimizer_->state()) {
        all.push_back(rank::list_boxes(held.specs(), optimizer_->shards(), moments));
    }
    return all;
}

rank::RankState MovingState::take_state() {
    if (is_idle()) return {};
    stage::LocalParameters& held = stages_->parameters();
    rank::RankState state{
        .specs = held.specs(), .shards = optimizer_->shards(), .updates = optimizer_->updates()};
    state.values = held.take_values();
    state.optimizer_state = optimizer_->take_state();
    return state;
}

std::size_t MovingState::change_to(const layout::Layout& layout, const Carry& carry) {
    const auto before = parts();
    std::vector<std::set<Element>> had;
    for (const auto& part : before) had.push_back(list_elements(part));
    const plan::Plan from = *plan_;
    const stage::GradientPlan held = gradients_;
    rank::RankState state = take_state();

    settle(layout, layout == from.layout ? std::exchange(state.values, std::nullopt) : std::nullopt);
    rank::StateDestination place;
    if (!is_idle()) place = {.parameters = &stages_->parameters(), .optimizer = &*optimizer_};
    carry(std::move(state), place, from, held);

    std::size_t missing = 0;
    const auto after = parts();
    for (std::size_t part = 0; part < after.size(); ++part) {
        for (const Element& element : list_elements(after[part]))
            missing += had[part].contains(element) ? 0 : 1;
    }
    return missing;
}

std::size_t MovingState::move_to(const layout::Layout& layout, comm::Communicator& control, MoveOrder way) {
    return change_to(layout, [&](rank::RankState state, const rank::StateDestination& place,
                                 const plan::Plan& from, const stage::GradientPlan& held) {
        rank::StateMoves moves = rank::plan_state_moves({from, held}, {*plan_, gradients_}, rules_.move);
        if (way == MoveOrder::at_once)
            return move_state(std::move(state), place, std::move(moves), rules_.dtype, control);
        const auto moments =
            move_values_first(std::move(state), place, std::move(moves), rules_.dtype, control);
        moments->advance();
        moments->finish();
    });
}

std::size_t MovingState::move_by_staging(const layout::Layout& layout, comm::Communicator& control,
                                         comm::NodeMemory& memory) {
    return change_to(layout, [&](rank::RankState state, const rank::StateDestination& place,
                                 const plan::Plan& from, const stage::GradientPlan& held) {
        const rank::StagedMoves moves =
            rank::plan_staged_moves({from, held}, {*plan_, gradients_}, rules_.move);
        const int node = rules_.move.nodes.at(static_cast<std::size_t>(rank_));
        move_state_by_staging(std::move(state), place, moves, rules_.dtype,
                              {.group = control, .node = node, .memory = memory});
    });
}

std::size_t MovingState::count_wrong_elements() const {
    std::size_t wrong = 0;
    const auto all = parts();
    for (std::size_t part = 0; part < all.size(); ++part) {
        for_each_element(all[part], [&](const Element& element, auto& number) {
            using Number = std::remove_cvref_t<decltype(number)>;
            wrong += number == static_cast<Number>(make_number(part, element)) ? 0 : 1;
        });
    }
    return wrong;
}

}  // namespace trireme::validation
