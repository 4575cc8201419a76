#include "trireme/kernels/linear.hpp"

#include "gpu_comparison.hpp"

namespace trireme {
namespace {

template <class Test>
void for_each_product(Test&& test) {
    for (const std::size_t rows : {1, 17, 63}) {
        for (const std::size_t in : {5, 64}) {
            for (const std::size_t out : {3, 100}) {
                for (const WeightAxes axes : {WeightAxes::in_out, WeightAxes::out_in}) {
                    SCOPED_TRACE(cat(rows, " rows, ", in, " inputs, ", out, " outputs, weight ",
                                     axes == WeightAxes::in_out ? "in x out" : "out x in"));
                    test(rows, in, out, axes);
                    if (testing::Test::HasFailure()) return;
                }
            }
        }
    }
}

// None, one, or one on an address that libraries do not take.
ConstTensor random_bias(GpuOperands& t, std::size_t out, std::size_t which) {
    if (which == 0) return {};
    return which == 1 ? t.random(1, out) : t.random(1, out + 1).column_range(1, out);
}

Tensor random_weight(GpuOperands& t, std::size_t in, std::size_t out, WeightAxes axes) {
    return axes == WeightAxes::in_out ? t.random(in, out) : t.random(out, in);
}

TEST(GpuBackend, AgreesOnLinear) {
    for_each_product([](std::size_t rows, std::size_t in, std::size_t out, WeightAxes axes) {
        expect_same_on_gpu([&](GpuOperands& t) {
            return Linear{t.random(rows, in), random_weight(t, in, out, axes), random_bias(t, out, rows % 3),
                          t.unwritten(rows, out), axes};
        });
    });
}

TEST(GpuBackend, AgreesOnLinearBackwardInput) {
    for_each_product([](std::size_t rows, std::size_t in, std::size_t out, WeightAxes axes) {
        for (const bool accumulate : {false, true}) {
            expect_same_on_gpu([&](GpuOperands& t) {
                return LinearBackwardInput{t.random(rows, out), random_weight(t, in, out, axes),
                                           accumulate ? t.random(rows, in) : t.unwritten(rows, in), axes,
                                           accumulate};
            });
        }
    });
}

TEST(GpuBackend, AgreesOnLinearBackwardWeight) {
    for_each_product([](std::size_t rows, std::size_t in, std::size_t out, WeightAxes axes) {
        expect_same_on_gpu([&](GpuOperands& t) {
            const Tensor grad_bias = rows % 2 == 1 ? t.wide_random(1, out) : Tensor{};
            const Tensor grad_weight =
                axes == WeightAxes::in_out ? t.wide_random(in, out) : t.wide_random(out, in);
            return LinearBackwardWeight{t.random(rows, in), t.random(rows, out), grad_weight, grad_bias, axes};
        });
    });
}

}  // namespace
}  // namespace trireme
