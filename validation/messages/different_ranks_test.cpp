// Ranks that were started with different command lines or files end together before anything is written.
#include "messages/workplace.hpp"

namespace trireme::messages {
namespace {

class DifferentRanks : public Workplace {
protected:
    static constexpr const char* options =
        " --corpus corpus.h5 --steps 2 --batch 4 --layers 1 --width 16 --heads 2 --device reference --threads "
        "1 "
        "--quiet ";

    static std::string train(std::size_t mpi, const std::string& more = "") {
        return program_path(mpi) + " train" + options + more;
    }

    // Runs one rank per command under the given MPI library, and expects one sentence and no new file.
    void expect_refusal_of(const std::vector<std::string>& commands, const std::string& sentence,
                           std::size_t mpi) const {
        const auto before = content();

        const Outcome outcome = run_ranks(commands, mpi);

        EXPECT_EQ(outcome.code, 2) << outcome.err;
        EXPECT_EQ(outcome.out, "");
        EXPECT_EQ(content(), before);
        ASSERT_EQ(sentences(outcome).size(), 1U) << outcome.err;
        EXPECT_EQ(sentences(outcome).front().rfind("trireme: " + sentence, 0), 0U) << outcome.err;
    }

    void expect_refusal_of_second(const std::string& more, const std::string& sentence,
                                  std::size_t mpi = 0) const {
        expect_refusal_of({train(mpi), train(mpi, more)}, sentence, mpi);
    }
};

TEST_F(DifferentRanks, MayNotHaveDifferentSeeds) {
    make_corpus();
    for (std::size_t mpi = 0; mpi < mpi_libraries(); ++mpi) {
        expect_refusal_of_second(
            "--seed 3",
            "the ranks of this job disagree on --seed: 1 on rank 0, 3 on rank 1; start every "
            "rank with the same command line, files and version of trireme",
            mpi);
    }
}

TEST_F(DifferentRanks, MayNotHaveDifferentTrainingOptions) {
    make_corpus();
    expect_refusal_of_second("--lr 0.5", "the ranks of this job disagree on --lr: ");
    expect_refusal_of_second("--dtype f64",
                             "the ranks of this job disagree on --dtype: f32 on rank 0, f64 on rank 1");
    const std::string base = train(0);
    for (const auto& [from, to] :
         {std::pair{"--batch 4", "--batch 6"}, std::pair{"--width 16", "--width 32"}}) {
        std::string other = base;
        other.replace(other.find(from), std::string(from).size(), to);
        const std::string name = words(from).front();
        expect_refusal_of({base, other}, "the ranks of this job disagree on " + name + ": ", 0);
    }
}

TEST_F(DifferentRanks, MayNotHaveDifferentProcessGrids) {
    make_corpus();
    for (std::size_t mpi = 0; mpi < mpi_libraries(); ++mpi) {
        expect_refusal_of({train(mpi, "--data 2"), train(mpi, "--tensor 2")},
                          "the ranks of this job disagree on --data: 2 on rank 0, 0 on rank 1", mpi);
    }
}

// Files of the same name in the folders of two nodes: equal rows except for their letters.
TEST_F(DifferentRanks, MayNotHaveDifferentCorporaOfTheSameName) {
    write("in.sh", "cd $1; shift; exec \"$@\"\n");
    for (const std::string node : {"a", "b"}) {
        std::string text;
        for (int row = 0; row < 20; ++row) text += std::string(12, node.front()) + "\n";
        write(node + "/rows.txt", text);
        const Outcome made =
            run("prepare " + node + "/rows.txt --rows line --quiet --output " + node + "/corpus.h5");
        ASSERT_EQ(made.code, 0) << made.err;
    }
    for (std::size_t mpi = 0; mpi < mpi_libraries(); ++mpi) {
        expect_refusal_of({"sh in.sh a " + train(mpi), "sh in.sh b " + train(mpi)},
                          "the ranks of this job disagree on the corpus (SHA-256): ", mpi);
    }
}

TEST_F(DifferentRanks, MayNotRunDifferentCommands) {
    make_corpus();
    for (std::size_t mpi = 0; mpi < mpi_libraries(); ++mpi) {
        expect_refusal_of({train(mpi), program_path(mpi) + " evaluate --resume run --corpus corpus.h5"},
                          "the ranks of this job disagree on the command: train on rank 0, evaluate on rank 1",
                          mpi);
    }
}

TEST_F(DifferentRanks, ReportAnUnknownOptionOfOneRankOnce) {
    make_corpus();
    for (std::size_t mpi = 0; mpi < mpi_libraries(); ++mpi)
        expect_refusal_of_second("--sed 3", "rank 1: unknown option --sed; did you mean --seed?", mpi);
}

// MPICH would wait forever for a rank that ends without starting MPI.
TEST_F(DifferentRanks, ReportAnUnknownCommandOfOneRankOnce) {
    make_corpus();
    for (std::size_t mpi = 0; mpi < mpi_libraries(); ++mpi) {
        expect_refusal_of({train(mpi), program_path(mpi) + " trian"},
                          "rank 1: unknown command 'trian'; did you mean train?", mpi);
    }
}

// The second process never starts MPI, and the first would wait for it forever.
TEST_F(DifferentRanks, EndIfOneRankNeverStartsMpi) {
    make_corpus();
    for (std::size_t mpi = 0; mpi < mpi_libraries(); ++mpi) {
        const std::string never = "sh never.sh";
        write("never.sh", "sleep 30\n");

        const Outcome outcome = run_ranks({train(mpi, "--stall-timeout 0.1"), never}, mpi);

        // MPICH's launcher may report the SIGKILL (9) that it sends to the other process.
        EXPECT_TRUE(outcome.code == 3 || (mpi > 0 && outcome.code == 9)) << outcome.code << outcome.err;
        ASSERT_EQ(sentences(outcome).size(), 1U) << outcome.err;
        EXPECT_EQ(sentences(outcome).front(),
                  "trireme: MPI has not started within 1 s (ten times --stall-timeout), probably because a "
                  "process of this job has not called MPI_Init; start every rank with the same command line");
    }
}

}  // namespace
}  // namespace trireme::messages
