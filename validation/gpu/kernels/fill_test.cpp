#include "trireme/kernels/fill.hpp"

#include "gpu_comparison.hpp"

namespace trireme {
namespace {

const RandomKey key = RandomKey{3}.then("transformer.wte.weight");

TEST(GpuBackend, MatchesReferenceForFill) {
    for (const double value : {0.0, 2.5}) {
        for (const std::size_t columns : {1, 8, 33}) {
            for (const std::size_t rows : {0, 1, 37}) {
                SCOPED_TRACE(cat(rows, " rows, ", columns, " columns, ", value));
                expect_same_on_gpu([&](GpuOperands& t) {
                    return kernels::Fill{t.unwritten(rows, columns), value};
                });
            }
        }
    }
}

TEST(GpuBackend, MatchesReferenceForFillNormal) {
    for (const std::size_t first : {std::size_t{0}, std::size_t{25}, (std::size_t{4} << 32) - 6}) {
        for (const std::size_t rows : {0, 1, 17}) {
            SCOPED_TRACE(cat(rows, " rows from element ", first));
            expect_same_on_gpu([&](GpuOperands& t) {
                return kernels::FillNormal{.output = t.unwritten(rows, 45),
                                           .key = key,
                                           .deviation = 0.5,
                                           .first_element = first,
                                           .global_columns = 77};
            });
        }
    }
}

}  // namespace
}  // namespace trireme
