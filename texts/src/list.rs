//! The list of all texts.
//!
//! A name here is a key in `locales/*.ftl`, and a field a variable there: a number if it decides about a
//! plural or is counted, else a text.

#![expect(missing_docs, reason = "the words are in locales/en.ftl, under the same names")]

use fluent_bundle::{FluentArgs, FluentValue};

/// The texts as an enum, and as what the catalogue knows of them.
macro_rules! texts {
    ($($name:ident $({ $($field:ident: $type:ty),* })?,)*) => {
        /// A text of the catalogue.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Text<'a> {
            $($name $({ $($field: $type),* })?,)*
        }

        impl Text<'_> {
            /// Its key in the catalogue, and the variables that it fills.
            pub(crate) fn parts(&self) -> (&'static str, FluentArgs<'_>) {
                let filled: Vec<(&'static str, FluentValue<'_>)> = match *self {
                    $(Self::$name $({ $($field),* })? => vec![$($((stringify!($field), $field.into())),*)?],)*
                };
                (self.key(), filled.into_iter().collect())
            }

            fn key(&self) -> &'static str {
                match self {
                    $(Self::$name $({ $($field: _),* })? => stringify!($name),)*
                }
            }
        }

        /// The keys, each with its variables.
        #[cfg(test)]
        pub(crate) const ALL: &[(&str, &[&str])] =
            &[$((stringify!($name), &[$($(stringify!($field)),*)?])),*];
    };
}

texts! {
    // Words that other texts use.
    Quoted { text: &'a str },
    Sentences { first: &'a str, second: &'a str },
    TakesNothing { command: &'a str },
    NothingFollows,
    OwnerAlone,

    // The commands in menus and in /help.
    SummaryHelp,
    SummaryStatus,
    SummaryStop,
    SummarySameAsStop,
    SummaryNew,
    SummaryQueue,
    SummaryRetry,
    SummaryUndo,
    SummaryFiles,
    SummaryGet,
    SummaryModel,
    SummaryLanguage,
    SummaryContext,
    SummaryApprovals,
    SummaryPairings,
    SummaryChats,
    SummaryUnpair,
    SummarySchedules,
    SummaryUsage,
    SummaryHealth,
    SummaryWhoAmI,
    SummarySameAsHelp,

    // Answers to commands.
    WhatIAm,
    Examples,
    ExamplesWithoutModel,
    ApprovalsInTerminal,
    NoApprovals,
    ApprovalsComeAgain { count: i64 },
    CancelUsage,
    CancelStopping,
    CancelStoppedParked,
    CancelledWaiting { count: i64, texts: &'a str },
    StillWaiting { count: i64, texts: &'a str },
    NothingToCancel,
    GetUsage,
    NoFiles,
    TextAlone,
    NoAnswerFromTools,
    DatabaseUnavailable,
    NewUsage,
    NewBegun,
    QueueUsage,
    RetryUsage,
    RetryRunning { text: &'a str },
    RetryNothing,
    UndoUsage,
    UndoNotEnded,
    UndoNothing,
    UndoneBefore,
    UndoneBack { path: &'a str },
    UndoneRemoved { path: &'a str },
    UndoneAsBefore { path: &'a str },
    UndoneNothing,
    UndoneInPart,
    WhoYouAre { sender: &'a str },
    WhereThisIs { chat: &'a str, channel: &'a str },
    WhereThisIsNamed { name: &'a str, chat: &'a str, channel: &'a str },
    ModelUsage,
    ModelChosen { name: &'a str },
    ModelUnknown { name: &'a str },
    ModelNone,
    ModelFirst,
    ModelAsChosen { name: &'a str },
    ModelGone { first: &'a str, gone: &'a str },
    ModelFixed { name: &'a str },
    ModelAnswers { name: &'a str },
    ModelNoOther,
    ModelSwitch { names: &'a str },
    LanguageAsk,
    LanguageList { codes: &'a str },
    LanguageUnknown { code: &'a str },
    LanguageChosen,
    LanguageByDefault,
    ContextUsage,
    ContextOn { count: i64 },
    ContextOff,
    ContextGroupsAlone,
    ContextAdministratorsAlone,

    // /status.
    NothingRuns,
    StatusWaitsForWorker,
    StatusWaitsBehind { before: i64 },
    StatusWaitsForSender,
    StatusFetching { name: &'a str },
    StatusAsked { question: &'a str },
    NothingWaits,
    MessagesWait { count: i64 },
    StatusParked { age: &'a str, text: &'a str, turns: i64 },
    StatusRunning { age: &'a str, text: &'a str, turns: i64 },
    StatusRunningTool { age: &'a str, text: &'a str, turns: i64, tool: &'a str },
    Today { tasks: i64, turns: i64, input: i64, output: i64 },
    TodayWithCost { tasks: i64, turns: i64, input: i64, output: i64, cost: &'a str },
    UsedByChat { parts: &'a str },
    UsedByUser { parts: &'a str },
    UsedTasks { used: i64, limit: i64 },
    UsedTurns { used: i64, limit: i64 },
    UsedTokens { used: i64, limit: i64 },
    UsedCommandSeconds { used: i64, limit: i64 },
    UsedMoney { used: &'a str, limit: &'a str },

    // For the owner.
    ChatBySettings { chat: &'a str },
    ChatPaired { chat: &'a str, title: &'a str },
    NoChats,
    UnpairUsage,
    UnpairBySettings { chat: &'a str },
    UnpairUnknown { chat: &'a str },
    UnpairDone { chat: &'a str },
    ScheduleOnce { at: &'a str, chat: &'a str, text: &'a str },
    ScheduleRepeated { at: &'a str, every: &'a str, chat: &'a str, text: &'a str },
    NothingScheduled,
    UsageLine {
        day: &'a str,
        chat: &'a str,
        tasks: i64,
        turns: i64,
        input: i64,
        output: i64,
        model: &'a str
    },
    UsageLineWithCost {
        day: &'a str,
        chat: &'a str,
        tasks: i64,
        turns: i64,
        input: i64,
        output: i64,
        cost: &'a str,
        model: &'a str
    },
    NoUsage,
    HealthUnknown,
    ListMore { count: i64 },
    PairingsOwnerAlone,
    NoStranger,
    PairingInTerminal { title: &'a str, chat: &'a str, channel: &'a str, code: &'a str },

    // Strangers and pairing.
    StrangerRefused { code: &'a str, chat: &'a str },
    StrangerAsks { title: &'a str, chat: &'a str, code: &'a str },
    ButtonAllow,
    ButtonIgnore,
    StrangerWaits { title: &'a str },
    StrangersWait { count: i64 },
    StrangersBehind { count: i64, names: &'a str },
    StrangersBehindAndOthers { count: i64, names: &'a str },
    StrangersWrote { count: i64 },
    CodeTooLate,
    StrangerAllowed { title: &'a str, chat: &'a str },
    StrangerIgnored { title: &'a str, chat: &'a str, code: &'a str },
    Welcome,

    // Presses of buttons, and what somebody types instead.
    PressAllowed,
    PressDenied,
    PressAnswered,
    PressIgnored,
    PressStopping,
    PressCancelled,
    PressEnded,
    PressNothing,
    PressNoted,
    PressDecidedBefore,
    PressNotWaitedFor,
    NotAnApprover,
    DecidedBefore,
    StopNotAllowed,
    PairingOwnerDecides,
    UseTheButtons,
    AnswerNotAllowed,
    NotTheAsker,
    AnswerNoOption,
    AnswerTooLong,
    LanguageNotAllowed,
    ButtonStop,

    // Who is obeyed, and what is not run.
    AdministratorsAlone,
    ListedAlone,
    ForwardedCommand,
    UnknownAdministrators,
    SkippedWhileOff { count: i64 },
    Outage,
    Unreadable,
    FileTooLarge,

    // Progress.
    ProgressWorking { elapsed: &'a str, turn: i64 },
    ProgressParked { elapsed: &'a str, turn: i64 },
    ProgressStopping { elapsed: &'a str },
    ProgressTokens { tokens: &'a str },
    ProgressAdded { messages: i64 },
    Seconds { seconds: i64 },
    MinutesAndSeconds { minutes: i64, seconds: i64 },
    ProgressWaitsForWorker,
    ProgressWaitsBehind { before: i64 },
    ProgressWaitsForSender,
    ProgressFetching { name: &'a str },

    // Approvals.
    ApprovalAsks { tool: &'a str, risk: &'a str },
    ApprovalBy { session: &'a str },
    ApprovalOnceOnly,
    ApprovalExtentTask { covers: &'a str },
    ApprovalExtentChat { covers: &'a str },
    ApprovalReveal { id: &'a str },
    ApprovalFile { tool: &'a str },
    ApprovalBeginning { bytes: i64 },
    ButtonOnce,
    ButtonTask,
    ButtonChat,
    ButtonDeny,
    OutcomeDenied,
    OutcomeDeniedBy { by: &'a str },
    OutcomeDeniedWhy { reason: &'a str },
    OutcomeDeniedByWhy { by: &'a str, reason: &'a str },
    OutcomeOnce,
    OutcomeOnceBy { by: &'a str },
    OutcomeTask,
    OutcomeTaskBy { by: &'a str },
    OutcomeChat,
    OutcomeChatBy { by: &'a str },
    CoversTask { covers: &'a str },
    CoversMinutes { minutes: i64, covers: &'a str },
    CoversHours { hours: i64, covers: &'a str },
    CoversHoursAndMinutes { hours: i64, minutes: i64, covers: &'a str },
    OutcomeExpired,
    AskReply,
    AskReplyInstead,
    OutcomeAnswered { answer: &'a str },
    OutcomeAnsweredBy { by: &'a str, answer: &'a str },
    OutcomeNoAnswer,
    OutcomeWithdrawn,
    QuestionComesAgain,

    // Files, schedules and the end of tasks.
    FileKind { kind: &'a str },
    FileFailed { kind: &'a str, why: &'a str },
    FileNotYet { name: &'a str },
    FileGivenUp,
    FileTooManyMegabytes { megabytes: i64 },
    NotDoneByAccess { text: &'a str, due: &'a str },
    NotDoneByAge { text: &'a str, due: &'a str },
    EmptyReply,
    WholeAnswer { messages: i64 },
    CancelledBefore,
    CancelledAfter { calls: &'a str },
    CancelledAfterLast { count: i64, calls: &'a str },
    CallDone { tool: &'a str },
    CallFailed { tool: &'a str },
    CallInterrupted { tool: &'a str },
    TaskFailed { error: &'a str },
    TaskFailedAfter { tries: i64, error: &'a str },
    WorkerExited { status: &'a str },
    ResultNotStored,
    SupervisorRestarted,
    LimitUsedUpMinutes { limit: &'a str, minutes: i64 },
    LimitUsedUpHours { limit: &'a str, hours: i64 },
    LimitKept,
    LimitSendAgain { task: &'a str },
    LimitTasks { limit: i64, of: &'a str },
    LimitTurns { limit: i64, of: &'a str },
    LimitTokens { limit: i64, of: &'a str },
    LimitCommandSeconds { limit: i64, of: &'a str },
    LimitMoney { limit: &'a str, of: &'a str },

    // Tasks that end without an answer.
    StoppedAtLimit { limit: &'a str },
    StoppedStalled { rounds: i64 },
    ToolServerSilent,
    DoneSoFar,
    DoneNothing,
    EarlierCalls { count: i64 },
    OutcomeUnknown,
    LastNoted { note: &'a str },
    NoAnswerYet,
    AskAgainTomorrow,
    AskAgainSmaller,
    AskAgainRephrased,
    AskAgainFixed,
    LimitOfTurns { turns: i64 },
    LimitOfSeconds { seconds: i64 },
    LimitOfTokens { tokens: i64 },
    LimitOfDayTurns,
    LimitOfDayTokens,
    LimitOfDayMoney,
    ModelRateLimit,
    ModelOverloaded,
    ModelRefusesKey,
    ModelNoCredit,
    ModelRefusesRequest,
    ModelContextTooLong,
    ModelUnreachable,
    ModelStalled,
    ModelInvalidReply,
    ModelAsksToWait { error: &'a str, seconds: i64 },
    ModelPaused { error: &'a str, failures: i64, seconds: i64 },
    WorkerInternal,
}
