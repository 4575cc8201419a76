// A non-finite loss on GPUs: the step is repeated, with every tensor read back from the device.
#include "messages/non_finite_model.hpp"

namespace trireme::messages {
namespace {

TEST_F(NonFinite, IsTracedToTheGpuThatProducedIt) {
    const Outcome outcome = train("--device cuda --pipe 2", 2, on_emulated_gpu());

    EXPECT_EQ(outcome.code, 2) << outcome.err;
    EXPECT_NE(outcome.err.find(std::string("step 1 has loss nan and gradient norm nan; first non-finite value: "
                                           "rank 1 (stage 1)") +
                               cause_of_nan),
              std::string::npos)
        << outcome.err;
}

}  // namespace
}  // namespace trireme::messages
