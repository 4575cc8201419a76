// Messages about options that have no effect or an impossible value.
#include "messages/workplace.hpp"

namespace trireme::messages {
namespace {

using Options = Workplace;

TEST_F(Options, AreRejectedIfTheyHaveNoEffect) {
    expect_refusal("plan --horizon 5", {"--horizon has no effect without", "--straggler uneven"});
    expect_refusal("plan --patch 4", {"--patch has no effect without a model that reads images"});
    expect_refusal("plan --model vit-tiny --positions 4",
                   {"--positions has no effect without a model that reads"});
    expect_refusal("plan --labels 4", {"--labels has no effect without classes to learn", "--task classify"});
}

TEST_F(Options, MayNotNameAMissingProfile) {
    expect_refusal("plan --profile nosuch.json --cost F=1", {"--profile nosuch.json cannot be read"});
    expect_refusal("plan --profile nosuch.json --compare 1f1b", {"--profile nosuch.json cannot be read"});
}

TEST_F(Options, AreQuotedBrieflyAndWithoutControlCharacters) {
    const std::string endless(100'000, 'x');
    write("base.ini", std::string("[run]\nbatch = \x1B[2J") + endless + "\n");
    write("key.ini", endless + endless + "\x07 = 1\n");

    for (const std::vector<std::string>& line :
         {std::vector<std::string>{"plan", "--pipe", "\x1B[31m" + endless},
          {"plan", "--" + endless},
          {endless},
          {"plan", endless},
          {"plan", "--layout", endless.substr(0, 90'000) + "\x1B"},
          {"plan", "--config", "base.ini"},
          {"plan", "--config", "key.ini"}}) {
        const Outcome outcome = run(line, 0, 0);

        EXPECT_EQ(outcome.code, 2);
        EXPECT_LT(outcome.err.size(), 5000U) << outcome.err;
        EXPECT_EQ(outcome.err.find_first_of("\x1B\x07"), std::string::npos);
    }
}

// One run checks the default batch, the number of threads and the config file.
TEST_F(Options, DefaultToOneSamplePerMicrobatch) {
    make_corpus();
    const std::string line =
        "train --corpus corpus.h5 --model gpt2-tiny --width 32 --heads 2 --positions 32 --validation-share 0 "
        "--steps 1 --microbatches 12 ";

    const Outcome chosen = run(line + "--threads 1 --run-dir run");

    EXPECT_EQ(chosen.code, 0) << chosen.err;
    EXPECT_NE(
        chosen.out.find("step      12 samples (--batch is not set; one sample per micro-batch), 12 micro"),
        std::string::npos)
        << chosen.out;
    EXPECT_NE(read("run/config.ini").find("\nbatch = 12\n"), std::string::npos);
    EXPECT_EQ(run("train --config run/config.ini --run-dir again --dry-run").code, 0);
    expect_refusal(line + "--batch 8 --run-dir small", {"--batch 8 is smaller than 12 micro-batches"});
    expect_refusal(line + "--threads 100000 --run-dir many",
                   {"--threads 100000 is beyond the ", " threads that a rank may have", "set --threads"});
}

}  // namespace
}  // namespace trireme::messages
