#include <gtest/gtest.h>

#include "trireme/model/model.hpp"
#include "unit/model/small_parts.hpp"

namespace trireme::model {
namespace {

using validation::sharable;

std::vector<std::string> names_of(const std::vector<Layer>& layers) {
    std::vector<std::string> names;
    for (const Layer& layer : layers) {
        names.emplace_back(find_kind(layer));
        for (const ParameterSpec& spec : list_parameters(layer))
            names.push_back(cat(spec.name, ' ', spec.rows, " x ", spec.columns));
    }
    return names;
}

TEST(LayerRange, MatchesTheSameRangeOfTheFullModel) {
    const TensorPart part{.rank = 1, .shares = {5, 3}};
    for (const ModelConfig& model :
         {sharable(Family::gpt2, Task::language, true), sharable(Family::bert, Task::masked, true)}) {
        const std::vector<Layer> all = build_layers(model, part);
        for (std::size_t begin = 0; begin < all.size(); ++begin) {
            for (std::size_t end = begin; end <= all.size(); ++end) {
                const std::vector<Layer> wanted(all.begin() + static_cast<std::ptrdiff_t>(begin),
                                                all.begin() + static_cast<std::ptrdiff_t>(end));
                EXPECT_EQ(names_of(build_layers(model, part, {begin, end - begin})), names_of(wanted));
            }
        }
    }
}

}  // namespace
}  // namespace trireme::model
