#include "train/whole_tensor.hpp"

#include <gtest/gtest.h>

#include "train/rank_memory.hpp"
#include "unit/train/small_plans.hpp"

namespace trireme {
namespace {

using validation::grid;
using validation::small_gpt2;
using validation::specs_of;

TEST(TensorCollector, OfALoneRankGivesItsOwnValues) {
    const ModelConfig model = small_gpt2();
    const Plan plan = plan_run(grid(1, 1, 1), model, 1);
    const std::vector<BatchShape> none;
    const GradientPlan gradients = gradient_plan({model, plan, DType::f32, none});
    const LocalParameters held(specs_of(model), DType::f32, Place::memory);
    Stream stream{.backend = ReferenceStream{}};
    initialise(stream, held.specs(), held.values(), 1);
    const auto control = single_rank("control");
    TensorCollector collector(gradients, DType::f32, &held, *control);

    for (const ParameterSpec& spec : held.specs()) {
        const ConstTensor whole = collector.collect(spec);

        const ConstTensor own = held.values()[held.number_of(spec.name)];
        ASSERT_EQ(whole.rows, own.rows) << spec.name;
        ASSERT_EQ(whole.columns, own.columns) << spec.name;
        for (std::size_t r = 0; r < own.rows; ++r) {
            for (std::size_t c = 0; c < own.columns; ++c) {
                ASSERT_EQ(whole.as<float>()(r, c), own.as<float>()(r, c)) << spec.name;
            }
        }
    }
}

}  // namespace
}  // namespace trireme
