#include "trireme/schedule/schedule_text.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "error_message.hpp"
#include "trireme/base/error.hpp"
#include "trireme/schedule/generate.hpp"
#include "trireme/schedule/lower.hpp"

namespace trireme::schedule {
namespace {

using validation::catch_message;
using validation::says;

Span span(Op op, int stage, int microbatch, double begin, double end) {
    return {.instruction = {op, stage, microbatch}, .begin = begin, .end = end};
}

// Returns a prediction of 1F1B over two stages, with B twice as long as F.
Prediction two_stages() {
    return {.makespan = 9,
            .busy_times = {6, 6},
            .spans = {{span(Op::forward, 0, 0, 0, 1), span(Op::forward, 0, 1, 1, 2),
                       span(Op::backward, 0, 0, 4, 6), span(Op::backward, 0, 1, 7, 9)},
                      {span(Op::forward, 1, 0, 1, 2), span(Op::backward, 1, 0, 2, 4),
                       span(Op::forward, 1, 1, 4, 5), span(Op::backward, 1, 1, 5, 7)}}};
}

TEST(ScheduleCsv, RoundTripsPrograms) {
    const PipelineShape shape = make_grid_shape(2, 2, 2, 3);
    const std::vector<Program> programs = lower(generate(require_schedule("interleaved"), shape), shape);

    EXPECT_EQ(parse_phases_csv(to_csv(programs), "mine").body, programs);
}

TEST(ScheduleCsv, KeepsALineForTeamsWithoutWork) {
    const std::vector<Program> programs = {{{Op::forward, 0, 0}}, {}, {{Op::forward, 0, 1}}};

    EXPECT_EQ(to_csv(programs), "0F0\n,\n0F1\n");
    EXPECT_EQ(parse_phases_csv(to_csv(programs), "mine").body, programs);
}

TEST(ScheduleCsv, SkipsCommentsBlankLinesAndEmptyCells) {
    const std::string text = "# by hand\r\n\r\n 0F0 ,, 0B0,\r\n  # second\n,,1F0,1B0";

    const std::vector<Program> programs = parse_phases_csv(text, "mine").body;

    ASSERT_EQ(programs.size(), 2U);
    EXPECT_EQ(to_string(programs[0]), "0F0 0B0");
    EXPECT_EQ(to_string(programs[1]), "1F0 1B0");
}

TEST(ScheduleCsv, RejectsWrongCellsWithLineAndCell) {
    const std::string message =
        catch_message<ConfigError>([] { parse_phases_csv("# by hand\n0F0\n1F0,,1X0\n", "my.csv").body; });

    EXPECT_TRUE(says(message, "line 3 of my.csv, cell 3: '1X0' is not an instruction"));
}

TEST(ScheduleCsv, RejectsFilesWithoutPrograms) {
    const std::string message =
        catch_message<ConfigError>([] { parse_phases_csv("# nothing\n\n", "my.csv").body; });

    EXPECT_TRUE(says(message, "my.csv holds no program; write one line for each team"));
}

TEST(ScheduleCsv, SeparatesThePrologueFromTheBody) {
    const Phases phases =
        parse_phases_csv("0F0, BODY ,0F1,0B0@1,REDUCE0,STEP0\n,,BODY,1F0,1B0,REDUCE1,STEP1\n", "mine");

    EXPECT_EQ(to_string(phases.prologue[0]), "0F0");
    EXPECT_EQ(to_string(phases.body[0]), "0F1 0B0@1 REDUCE0 STEP0");
    EXPECT_EQ(to_string(phases.prologue[1]), "");
    EXPECT_EQ(to_string(phases.body[1]), "1F0 1B0 REDUCE1 STEP1");
    EXPECT_EQ(to_csv(phases), "0F0,BODY,0F1,0B0@1,REDUCE0,STEP0\n1F0,1B0,REDUCE1,STEP1\n");
}

TEST(ScheduleCsv, RoundTripsProgramsWithAPrologue) {
    for (const Schedule& kind : {require_schedule("pipedream"), require_schedule("pipedream-vertical"),
                                 require_schedule("pipedream-2bw")}) {
        const PipelineShape shape = make_grid_shape(3, 2, 1, 2);
        const Phases phases = lower_phases(generate_phases(kind, shape), shape);

        const Phases again = parse_phases_csv(to_csv(phases), "mine");

        EXPECT_EQ(again.prologue, phases.prologue);
        EXPECT_EQ(again.body, phases.body);
    }
}

TEST(ScheduleCsv, KeepsALineForEmptyBodies) {
    const Phases phases = {.prologue = {{{Op::forward, 0, 0}}, {}}, .body = {{}, {}}};

    const Phases again = parse_phases_csv(to_csv(phases), "mine");

    EXPECT_EQ(to_csv(phases), "0F0,BODY,,\n,\n");
    EXPECT_EQ(again.prologue, phases.prologue);
    EXPECT_EQ(again.body, phases.body);
}

TEST(ScheduleCsv, RejectsRepeatedCellsWithLineAndCells) {
    const auto refusal = [](const std::string& csv) {
        return catch_message<ConfigError>([&] { parse_phases_csv(csv, "my.csv"); });
    };

    EXPECT_EQ(refusal("0F0\n1F0,,1B0,1F0\n"),
              "line 2 of my.csv, cell 4: 1F0 is in cell 1 already; keep one of them");
    EXPECT_EQ(refusal("0F0,0F0@1,0B0\n"),
              "line 1 of my.csv, cell 2: 0F0 is in cell 1 already; keep one of them");
    EXPECT_EQ(refusal("0F0,BODY,0F1,0F1\n"),
              "line 1 of my.csv, cell 4: 0F1 is in cell 3 already; keep one of them");
    EXPECT_EQ(refusal("REDUCE0,REDUCE0,BODY,0F0\n"), "(no error)");
}

// The test would take minutes if the time grew with the square of the number of cells.
TEST(ScheduleCsv, RejectsManyEqualCellsAtTheFirstRepetition) {
    std::string csv;
    for (int cell = 0; cell < 100'000; ++cell) csv += "0F0,";

    EXPECT_EQ(catch_message<ConfigError>([&] { parse_phases_csv(csv, "my.csv"); }),
              "line 1 of my.csv, cell 2: 0F0 is in cell 1 already; keep one of them");
}

TEST(ScheduleCsv, RejectsASecondBodyWithLineAndCell) {
    const std::string message =
        catch_message<ConfigError>([] { parse_phases_csv("0F0\n0F0,BODY,,BODY,0B0\n", "my.csv"); });

    EXPECT_EQ(message, "line 2 of my.csv, cell 4: the line already has a cell BODY; keep one of them");
}

TEST(ScheduleCsv, RequiresBodyInCapitals) {
    const std::string message =
        catch_message<ConfigError>([] { parse_phases_csv("0F0,body,0B0\n", "my.csv"); });

    EXPECT_TRUE(says(message, "line 1 of my.csv, cell 2: 'body' is not an instruction"));
}

TEST(ScheduleGrid, DrawsLongerInstructionsWider) {
    EXPECT_EQ(draw_grid(two_stages()),
              "team 0   F0 F1       B0 ..    B1 ..\n"
              "team 1      F0 B0 .. F1 B1 ..\n");
}

TEST(ScheduleGrid, NamesStagesIfATeamHoldsSeveral) {
    Prediction prediction = two_stages();
    prediction.spans[1][2].instruction = {Op::forward, 3, 10};

    EXPECT_EQ(draw_grid(prediction),
              "team 0   0F0  0F1            0B0  ..        0B1  ..\n"
              "team 1        1F0  1B0  ..   3F10 1B1  ..\n");
}

TEST(ScheduleGrid, IsCutWithANoteIfTooWide) {
    const std::string grid = draw_grid(two_stages(), 24);

    EXPECT_EQ(grid,
              "team 0   F0 F1       ...\n"
              "team 1      F0 B0 .. ...\n"
              "(the first 4 of 9 units of time; a wider grid shows more)\n");
}

TEST(ScheduleGrid, HasNoNoteIfItFitsExactly) {
    const std::string complete = draw_grid(two_stages());

    EXPECT_EQ(draw_grid(two_stages(), 9 + 9 * 3 + 3), complete);
    EXPECT_NE(draw_grid(two_stages(), 9 + 9 * 3 + 2), complete);
}

TEST(ScheduleGrid, OmitsNonComputeInstructions) {
    Prediction prediction = two_stages();
    prediction.spans[0].push_back(span(Op::step, 0, no_microbatch, 9, 10));

    EXPECT_EQ(draw_grid(prediction), draw_grid(two_stages()));
}

TEST(ScheduleGrid, ShowsInstructionsWithoutDurationOneCellWide) {
    const Prediction prediction{.makespan = 0,
                                .busy_times = {0},
                                .spans = {{span(Op::forward, 0, 0, 0, 0), span(Op::backward, 0, 0, 0, 0)}}};

    EXPECT_EQ(draw_grid(prediction), "team 0   F0 B0\n");
}

// The forward pass of the last stage takes almost no time, like that of a head.
TEST(ScheduleGrid, IsNotStretchedByVeryShortInstructions) {
    const Prediction prediction{
        .makespan = 8.001,
        .busy_times = {6, 6.001},
        .spans = {{span(Op::forward, 0, 0, 0, 2), span(Op::backward, 0, 0, 6.001, 8.001)},
                  {span(Op::forward, 1, 0, 2, 2.001), span(Op::backward, 1, 0, 2.001, 6.001)}}};

    EXPECT_EQ(draw_grid(prediction),
              "team 0   F0       B0\n"
              "team 1      F0 B0\n");
}

// Committed reference texts: complete programs as CSV, and their grid with F, I and W of one unit each. If work
// is in flight over the end of a step, the grid shows enough steps to know all further ones.
struct Golden {
    const char* name;
    Schedule kind;
    PipelineShape shape;

    friend void PrintTo(const Golden& golden, std::ostream* out) { *out << golden.name; }
};

class GoldenSchedule : public testing::TestWithParam<Golden> {
protected:
    static std::string committed(const std::string& file) {
        std::ifstream in(cat(TRIREME_SOURCE_DIR, "/validation/golden/schedules/", file));
        return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
    }
    static Phases phases() {
        const PipelineShape shape = apply_update_rule(GetParam().kind, GetParam().shape);
        return lower_phases(generate_phases(GetParam().kind, shape), shape);
    }
};

TEST_P(GoldenSchedule, HasTheCommittedPrograms) {
    EXPECT_EQ(to_csv(phases()), committed(cat(GetParam().name, ".csv")));
}

TEST_P(GoldenSchedule, HasTheCommittedGrid) {
    PipelineShape shape = apply_update_rule(GetParam().kind, GetParam().shape);
    shape.steps = count_representative_steps(phases(), shape.microbatches);
    const std::vector<StageCost> costs(static_cast<std::size_t>(shape.stages()));

    const std::string grid = draw_grid(predict(unroll(phases(), shape, shape.steps), shape, costs));

    EXPECT_EQ(grid, committed(cat(GetParam().name, ".txt")));
}

INSTANTIATE_TEST_SUITE_P(
    SmallShapes, GoldenSchedule,
    testing::Values(
        Golden{"inter_layer_pipe3_micro2", require_schedule("inter-layer"), make_grid_shape(3, 1, 1, 2)},
        Golden{"gpipe_pipe3_micro4", require_schedule("gpipe"), make_grid_shape(3, 1, 1, 4)},
        Golden{"gpipe_replicas_2_1_micro4", require_schedule("gpipe"), make_uneven_shape({2, 1}, 4)},
        Golden{"1f1b_pipe4_micro6", require_schedule("1f1b"), make_grid_shape(4, 1, 1, 6)},
        Golden{"1f1b_pipe2_data2_micro3", require_schedule("1f1b"), make_grid_shape(2, 2, 1, 3)},
        Golden{"1f1b_replicas_3_3_2_micro12", require_schedule("1f1b"), make_uneven_shape({3, 3, 2}, 12)},
        Golden{"interleaved_pipe2_chunks2_micro4", require_schedule("interleaved"),
               make_grid_shape(2, 1, 2, 4)},
        Golden{"interleaved_pipe4_chunks2_micro3", require_schedule("interleaved"),
               make_grid_shape(4, 1, 2, 3)},
        Golden{"interleaved_pipe3_chunks2_micro7", require_schedule("interleaved"),
               make_grid_shape(3, 1, 2, 7)},
        Golden{"looped_bfs_pipe2_chunks2_micro3", require_schedule("looped-bfs"), make_grid_shape(2, 1, 2, 3)},
        Golden{"looped_bfs_pipe2_chunks3_micro3_forward", require_schedule("looped-bfs"),
               make_grid_shape(2, 1, 3, 3, false)},
        Golden{"zb_h1_pipe4_micro6", require_schedule("zb-h1"), make_grid_shape(4, 1, 1, 6)},
        Golden{"zb_h1_pipe2_data2_micro3", require_schedule("zb-h1"), make_grid_shape(2, 2, 1, 3)},
        Golden{"zb_h2_pipe4_micro7", require_schedule("zb-h2"), make_grid_shape(4, 1, 1, 7)},
        Golden{"zb_v_pipe2_micro4", require_schedule("zb-v"), make_v_shape(2, 1, 4)},
        Golden{"zb_v_pipe3_micro5", require_schedule("zb-v"), make_v_shape(3, 1, 5)},
        Golden{"zb_v_pipe3_micro2", require_schedule("zb-v"), make_v_shape(3, 1, 2)},
        Golden{"zb_v_pipe2_micro4_forward", require_schedule("zb-v"), make_v_shape(2, 1, 4, false)},
        Golden{"pipedream_pipe3_micro1", require_schedule("pipedream"), make_grid_shape(3, 1, 1, 1)},
        Golden{"pipedream_replicas_2_1_micro2", require_schedule("pipedream"), make_uneven_shape({2, 1}, 2)},
        Golden{"pipedream_vertical_pipe3_micro1", require_schedule("pipedream-vertical"),
               make_grid_shape(3, 1, 1, 1)},
        Golden{"pipedream_2bw_pipe4_micro4", require_schedule("pipedream-2bw"), make_grid_shape(4, 1, 1, 4)},
        Golden{"pipedream_2bw_pipe2_data2_micro2", require_schedule("pipedream-2bw"),
               make_grid_shape(2, 2, 1, 2)}),
    [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace trireme::schedule
