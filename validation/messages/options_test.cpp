// What the program says of options that cannot be what the user wants.
#include "messages/workplace.hpp"

namespace trireme::messages {
namespace {

using Options = Workplace;

TEST_F(Options, WithoutAnEffectAreRefused) {
    expect_refusal("plan --horizon 5", {"--horizon has no effect without", "--straggler uneven"});
    expect_refusal("plan --patch 4", {"--patch has no effect without a model that reads images"});
    expect_refusal("plan --model vit-tiny --positions 4",
                   {"--positions has no effect without a model that reads"});
    expect_refusal("plan --labels 4", {"--labels has no effect without classes to learn", "--task classify"});
}

TEST_F(Options, NameNoProfileThatIsNotThere) {
    expect_refusal("plan --profile nosuch.json --cost F=1", {"--profile nosuch.json cannot be read"});
    expect_refusal("plan --profile nosuch.json --compare 1f1b", {"--profile nosuch.json cannot be read"});
}

}  // namespace
}  // namespace trireme::messages
