// The output of `plan`, and its messages about options that make no plan.
#include "messages/workplace.hpp"

namespace trireme::messages {
namespace {

using Plan = Workplace;

TEST_F(Plan, CountsTheParametersOfEachStage) {
    const Outcome outcome = run("plan --model gpt2 --tied off --pipe 4 --partition 4,3,3,4 --microbatches 8");

    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(outcome.err, "");
    EXPECT_TRUE(has(outcome.out, "60,647,424 / 21,263,616 / 21,263,616 / 59,862,528")) << outcome.out;
    EXPECT_TRUE(has(outcome.out, "bubble      27.3 %; by the closed form 27.3 %")) << outcome.out;
}

TEST_F(Plan, WarnsOfALargeBubble) {
    EXPECT_TRUE(
        has(run("plan --pipe 4 --microbatches 4").out,
            "\nwarning     the schedule leaves ranks idle for 43 % of a step; --microbatches 28 would lower "
            "this to 9.7 %, with --batch 28 or more\n"));
    EXPECT_FALSE(has(run("plan --pipe 4 --microbatches 8").out, "warning"));
}

TEST_F(Plan, WarnsOfInterleavedWithOneChunk) {
    const std::string options = "plan --pipe 4 --microbatches 8 --schedule interleaved";
    EXPECT_TRUE(has(run(options).out, "\nwarning     --schedule interleaved with --chunks 1 equals 1f1b; "));
    EXPECT_FALSE(has(run(options + " --chunks 2 --model gpt2").out, "warning"));
}

TEST_F(Plan, RejectsFewerSamplesThanMicrobatches) {
    expect_refusal("plan --batch 2 --microbatches 32",
                   {"--batch 2 is smaller than 32 micro-batches (1 replica x --microbatches 32)"});
}

// The devices are those of the described cluster, not of this machine.
TEST_F(Plan, ReportsWhetherDevicesHaveEnoughMemory) {
    write("cluster.json", R"({"schema": 1, "name": "shelf", "source": "made up",
        "device": {"name": "abacus", "flops": {"f32": 1e9}, "bandwidth": 1e9, "memory": 100000000, "launch": 1e-4},
        "devices_per_node": 2, "nodes": 2, "inside": {"latency": 1e-5, "bandwidth": 1e8},
        "between": {"latency": 1e-4, "bandwidth": 1e7}})");
    const std::string options = "plan --pipe 2 --vocabulary 257 --cluster cluster.json ";

    const Outcome small = run(options + "--max-length 32");
    const Outcome large = run(options + "--batch 64");

    EXPECT_EQ(small.code, 0) << small.err;
    EXPECT_TRUE(has(small.out, "\nfits        yes: rank 0, the fullest, needs ")) << small.out;
    EXPECT_TRUE(has(small.out, " MB of the 100.0 MB of abacus\n")) << small.out;
    EXPECT_TRUE(has(large.out, "\nfits        no: rank 1 needs ")) << large.out;
    EXPECT_TRUE(has(large.out, ", but its device, abacus of shelf, has only 100.0 MB; use")) << large.out;
    EXPECT_TRUE(has(large.out, "parameters  gradients  optimizer  activations")) << large.out;
    expect_refusal(options + "--data 8",
                   {"the job has 16 ranks, but --cluster cluster.json describes only 4 devices"});
}

TEST_F(Plan, PlansForGpusWithoutHavingThem) {
    make_corpus();
    const std::string options = "plan --vocabulary 257 --max-length 32 --dtype bf16 --format json ";

    const Outcome by_default = run(options);
    const Outcome for_gpus = run(options + "--device cuda");

    EXPECT_EQ(by_default.code, 0) << by_default.err;
    EXPECT_EQ(by_default.out, for_gpus.out);
    EXPECT_EQ(run(options + "--corpus corpus.h5").code, 0);
}

TEST_F(Plan, WritesProgramsThatItReadsBack) {
    const std::string options = "plan --model gpt2 --pipe 2 --data 2 --tensor 2 --chunks 2 --microbatches 4";
    ASSERT_EQ(run(options + " --schedule looped-bfs --format csv --output own.csv").code, 0);

    const Outcome outcome = run(options + " --schedule own.csv --format csv");

    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(outcome.out, read("own.csv"));
    EXPECT_TRUE(has(outcome.out, "0F0")) << outcome.out;
}

TEST_F(Plan, WritesAnSvgPicture) {
    const Outcome outcome = run("plan --pipe 2 --microbatches 4 --format svg --output plan.svg");

    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(outcome.out, "");
    EXPECT_EQ(read("plan.svg").rfind("<svg ", 0), 0U);
}

TEST_F(Plan, AcceptsALayoutFile) {
    write("layout.json",
          R"({"layers": 11, "stages": [)"
          R"({"layers": [0, 6], "replicas": [{"ranks": [0, 1], "shares": [5, 3]}, {"ranks": [2]}]},)"
          R"({"layers": [6, 11], "replicas": [{"ranks": [3]}]}], "idle": [4]})");

    const Outcome outcome = run("plan --layout layout.json --microbatches 3 --format json");

    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_TRUE(has(outcome.out, "\"bubble\":")) << outcome.out;
    EXPECT_TRUE(has(run("plan --layout layout.json --microbatches 3").out,
                    "stage 0: layers 0-3.5, ranks 0,1 (5:3) | rank 2\n"));
}

TEST_F(Plan, ReadsTheSizesOfACorpus) {
    make_corpus();

    const Outcome outcome = run("plan --corpus corpus.h5 --pipe 2 --microbatches 2");

    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_FALSE(has(outcome.out, "assumed")) << outcome.out;
}

TEST_F(Plan, MakesAScheduleFromCosts) {
    const std::string options =
        "plan --pipe 2 --microbatches 4 --cost F=1,I=1,W=1;F=1,I=3,W=2,send=0.5,reduce=1 ";

    const Outcome outcome = run(options + "--schedule auto");

    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_TRUE(has(outcome.out, "gpt2-tiny, auto, 4 micro-batches a step, plan ")) << outcome.out;
    EXPECT_TRUE(
        has(outcome.out, "step        26 cost units (F=1,I=1,W=1,send=0;F=1,I=3,W=2,send=0.5,reduce=1)"))
        << outcome.out;
    EXPECT_TRUE(has(run(options + "--schedule auto --format json").out, R"("schedule": "auto")"));
    EXPECT_EQ(run(options + "--schedule auto --format json").out,
              run(options + "--schedule auto --format json").out);
}

TEST_F(Plan, RejectsSchedulesAboveTheMemoryLimit) {
    const std::string options = "plan --pipe 2 --microbatches 8 --memory-limit ";

    EXPECT_EQ(run(options + "1GB --schedule gpipe").code, 0);
    expect_refusal(
        options + "20MB --schedule gpipe",
        {"rank 1 needs", "with schedule gpipe, which keeps 8 micro-batches", "20,000,000", "--schedule auto"});
    expect_refusal(
        options + "1MB --schedule auto",
        {"needs", "with schedule auto, which keeps only 1 micro-batch in flight", "1,000,000", "raise it"});
}

TEST_F(Plan, RejectsOptionsThatMakeNoPlan) {
    expect_refusal("plan --pipe 9", {"--partition uniform", "cannot cut 6 items", "9 stages"});
    expect_refusal("plan --pipe 2 --partition 3,4", {"--partition 3,4"});
    expect_refusal("plan --tensor 9", {"the model has 8", "9 ranks"});
    expect_refusal("plan --pipe 2 --chunks 2", {"1f1b", "--schedule interleaved or looped-bfs"});
    expect_refusal("plan --schedule 1f1", {"1f1", "did you mean 1f1b?"});
    expect_refusal("plan --pipe 2 --schedule zb-v --chunks 3",
                   {"zb-v puts 2 stages on each rank", "--chunks 3"});
    expect_refusal("plan --pipe 2 --schedule zb-h1 --chunks 2", {"zb-h1 needs one stage per rank"});
    expect_refusal("plan --recompute none,full", {"--recompute has 2 values", "1 stage"});
    expect_refusal("plan --pipe 2 --cost F=1;F=2;F=3", {"--cost is given for 3 stages", "has 2"});
    expect_refusal("plan --model gpt3", {"gpt3"});
    expect_refusal("plan --max-length 999", {"--max-length 999", "256 positions"});
    expect_refusal("plan --corpus none.h5", {"none.h5"});
    expect_refusal("plan --microbatches 70000", {"--microbatches 70000", "65536"});
    expect_refusal("plan --microbatches 4294967297", {"--microbatches", "65536"});
}

TEST_F(Plan, RejectsInvalidLayoutFiles) {
    write("text.json", "hello");
    write("key.json", R"({"layers": 11, "stage": []})");
    write("other.json", R"({"layers": 27, "stages": [{"layers": [0, 27], "replicas": [{"ranks": [0]}]}]})");
    write("twice.json", R"({"layers": 11, "stages": [{"layers": [0, 11], "replicas": [{"ranks": [0, 0]}]}]})");

    expect_refusal("plan --layout none.json", {"--layout none.json", "cannot be read"});
    expect_refusal("plan --layout text.json", {"text.json", "not valid JSON"});
    expect_refusal("plan --layout key.json", {"key.json", "did you mean stages?"});
    expect_refusal("plan --layout other.json", {"other.json", "27 layers", "11"});
    expect_refusal("plan --layout twice.json", {"rank 0 is twice in replica 0 of stage 0 of twice.json"});
    expect_refusal("plan --layout twice.json --pipe 2", {"--layout twice.json", "remove --pipe"});
}

TEST_F(Plan, RejectsSchedulesThatCannotRun) {
    write("stuck.csv", "0F0,0B0,0F1,0B1\n1F1,1B1,1F0,1B0\n");
    write("few.csv", "0F0,0B0\n");
    write("odd.csv", "0F0,0X0\n");

    expect_refusal("plan --pipe 2 --microbatches 2 --schedule stuck.csv",
                   {"stuck.csv cannot be run", "stuck at"});
    expect_refusal("plan --pipe 2 --schedule few.csv", {"few.csv holds 1 program", "2 teams"});
    write("clocks.csv", "CLOCK900,0F0,0B0\n");
    make_corpus();
    expect_refusal("plan --schedule clocks.csv",
                   {"clocks.csv sets clocks", "rank 0 are not known", "(device.clocks) with --cluster"});
    expect_refusal("plan --energy uniform",
                   {"--energy uniform sets clocks", "rank 0 are not known", "(device.clocks) with --cluster"});
    expect_refusal("train --corpus corpus.h5 --steps 2 --batch 1 --energy uniform",
                   {"--energy uniform sets clocks during a step, but Trireme cannot set the clock of a CPU"});
    expect_refusal(
        "train --corpus corpus.h5 --steps 2 --batch 1 --schedule clocks.csv",
        {"clocks.csv sets clocks during a step, but Trireme cannot set the clock of a CPU; use GPUs"});
    expect_refusal("plan --schedule odd.csv", {"line 1 of odd.csv, cell 2", "0X0"});
    expect_refusal("plan --schedule none.csv", {"--schedule none.csv", "cannot be read"});
}

TEST_F(Plan, RejectsAnOutputThatCannotBeWritten) {
    expect_refusal("plan --output none/plan.txt", {"none/plan.txt", "--output"});
}

}  // namespace
}  // namespace trireme::messages
