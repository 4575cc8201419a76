#include "trireme/layout/held_state.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "unit/layout/held_tensors.hpp"

namespace trireme::layout {
namespace {

constexpr int ranks = 8;

using Element = std::tuple<std::size_t, std::size_t, std::size_t>;  // tensor, row, column

std::multiset<Element> list_elements(const std::vector<TensorBox>& boxes) {
    std::multiset<Element> all;
    for (const auto& [tensor, box] : boxes) {
        for (std::size_t row = box.rows.begin; row < box.rows.end(); ++row)
            for (std::size_t c = box.columns.begin; c < box.columns.end(); ++c) all.insert({tensor, row, c});
    }
    return all;
}

bool is_among(const Element& element, const std::multiset<Element>& all) { return all.contains(element); }

std::vector<HeldState> list_states(const std::vector<HeldTensor>& tensors, bool shards_optimizer) {
    const std::vector<Piece> pieces = cut_in_pieces(tensors);
    const std::vector<Bucket> buckets =
        fill_buckets(tensors, pieces, {.large_piece_elements = 6, .max_bucket_elements = 12});
    std::vector<HeldState> states;
    for (int rank = 0; rank < ranks; ++rank)
        states.push_back(make_held_state(tensors, pieces, buckets, shards_optimizer, rank));
    return states;
}

TEST(HeldState, HasOneOwnerAmongTheHoldersOfEachElement) {
    for (const auto& [name, tensors] : validation::held_cases()) {
        SCOPED_TRACE(name);
        std::set<Element> held;
        std::multiset<Element> owned;
        for (const HeldState& state : list_states(tensors, true)) {
            const std::multiset<Element> values = list_elements(state.values);
            held.insert(values.begin(), values.end());
            for (const Element& element : list_elements(state.owned)) {
                EXPECT_TRUE(is_among(element, values));
                owned.insert(element);
            }
            EXPECT_EQ(state.moments, state.owned);
        }

        EXPECT_EQ(owned, std::multiset<Element>(held.begin(), held.end()));
    }
}

TEST(HeldState, HasMomentsOfAllValuesIfTheOptimizerIsNotSharded) {
    const HeldTensor tensor = validation::whole_tensor("a", 4, 3, {0, 1});

    const std::vector<HeldState> states = list_states({tensor}, false);

    const std::vector<TensorBox> all{{0, {{0, 4}, {0, 3}}}};
    EXPECT_EQ(states[0].moments, all);
    EXPECT_EQ(states[1].moments, all);
    EXPECT_EQ(states[0].owned, (std::vector<TensorBox>{{0, {{0, 2}, {0, 3}}}}));
    EXPECT_EQ(states[1].owned, (std::vector<TensorBox>{{0, {{2, 2}, {0, 3}}}}));
}

// Fused projections such as queries and keys are adjacent in memory but apart in the tensor.
TEST(Placements, MapAPartOfMemoryToItsBoxes) {
    const std::vector<Placement> placements{{.box = {{0, 2}, {4, 3}}, .row = 0, .column = 0},
                                            {.box = {{0, 2}, {20, 3}}, .row = 0, .column = 3}};

    const std::vector<Placement> found = find_placements_within(placements, {{1, 1}, {2, 3}});

    EXPECT_EQ(found, (std::vector<Placement>{{.box = {{1, 1}, {6, 1}}, .row = 0, .column = 0},
                                             {.box = {{1, 1}, {20, 2}}, .row = 0, .column = 1}}));
}

}  // namespace
}  // namespace trireme::layout
