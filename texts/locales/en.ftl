### What the bot itself says, in English, the language that the others are compared with.
###
### The key of a text is the name of its variant in texts/src/list.rs, and its variables are the fields.
### A line break in a value is one in the message, so values are not wrapped.

## Words that other texts use

Quoted = “{ $text }”
Sentences = { $first } { $second }
TakesNothing = /{ $command } takes nothing after it.
NothingFollows = Nothing follows this command.
OwnerAlone = Only the owner of this bot can do that.

## The commands in menus and in /help

SummaryHelp = What I am and what I can do
SummaryStatus = What runs, what waits, what was used today
SummaryStop = Stop what I am doing; with all, everything
SummarySameAsStop = The same as /stop
SummaryNew = Begin a new conversation
SummaryQueue = Do something after the task that runs: /queue TEXT
SummaryRetry = Run the last message again that failed or was skipped
SummaryUndo = Take back what the last task changed in files
SummaryFiles = What is in the workspace, or in a directory of it
SummaryGet = Send a file: /get PATH
SummaryModel = Which model answers here, and how to switch
SummaryLanguage = The language in which I write here
SummaryContext = Whether I read what this group wrote before
SummaryApprovals = The calls that wait for a decision, with their buttons
SummaryPairings = Who wants to use this bot; for its owner
SummaryChats = Who may use this bot; for its owner
SummaryUnpair = Take a pairing back: /unpair ID; for the owner
SummarySchedules = What all chats have set for later; for the owner
SummaryUsage = What the models used in 7 days; for the owner
SummaryHealth = How each part of the bot is; for its owner
SummaryWhoAmI = Your ID and that of this chat
SummarySameAsHelp = The same as /help

## Answers to commands

WhatIAm = I am Autonous, an agent that works on a machine for you. I read, write and search files in my workspace and run commands in a sandbox; I reach nothing else of the machine. Everything that I do is recorded.
Examples =
    Write what you want done, such as:
    • What is in the workspace?
    • Write a script that renames all photos by date, and try it.
    • Find all TODOs in the project and sort them by file.
ExamplesWithoutModel =
    No model is configured, so each message is the call of a tool, such as:
    • ls path=.
    • grep pattern=TODO
    • bash cmd="date"
    To get answers, start me with the key of a model, such as ANTHROPIC_API_KEY or OPENAI_API_KEY, or with OPENAI_BASE_URL: see docs/models.md.
ApprovalsInTerminal = `supervisor approvals` lists the calls that wait for a decision; `supervisor approve` and `supervisor deny` decide.
NoApprovals = No call waits for a decision in this chat.
ApprovalsComeAgain =
    { $count ->
        [one] 1 call waits for a decision; it comes once more with its buttons.
       *[other] { $count } calls wait for a decision; they come once more with their buttons.
    }
CancelUsage = /cancel stops what I am doing, or else cancels the newest waiting message. /cancel all stops everything.
CancelStopping = I am stopping what I was doing.
CancelStoppedParked = I have stopped what waited for a decision.
CancelledWaiting =
    { $count ->
        [one] 1 waiting message is cancelled: { $texts }.
       *[other] { $count } waiting messages are cancelled: { $texts }.
    }
StillWaiting =
    { $count ->
        [one] 1 message still waits: { $texts }. /stop all cancels it, too.
       *[other] { $count } messages still wait: { $texts }. /stop all cancels them, too.
    }
NothingToCancel = There is nothing to cancel.
GetUsage = /get PATH sends a file, such as /get notes/today.md; /files lists them.
NoFiles = There are no files here.
TextAlone = This chat shows text alone. The file is in the workspace; /files lists it.
NoAnswerFromTools = The tool server gave no answer. Please send it again in a moment.
DatabaseUnavailable = The database is not available right now. Please send it again in a moment.
NewUsage = /new begins a new conversation. Send it alone, and then what you want.
NewBegun = A new conversation begins: I no longer know what was said before. Files and the record of what was done stay as they are.
QueueUsage = After /queue, write what is to be done once the task that runs has ended.
RetryUsage = /retry runs your newest message again that failed or was skipped.
RetryRunning = Running this again: { $text }
RetryNothing = There is nothing to run again: no message of this chat failed or was skipped.
UndoUsage = /undo takes back what the last task changed in files; nothing follows it.
UndoNotEnded = A task that changed files has not ended. Wait for it, or /stop it, then /undo.
UndoNothing = There is nothing to undo: no task of this chat changed a file in the last week, other than by commands.
UndoneBefore = What that task changed is undone already.
UndoneBack = Back: { $path }
UndoneRemoved = Removed: { $path }
UndoneAsBefore = As before: { $path }
UndoneNothing = Nothing was undone.
UndoneInPart = The rest was not undone.
WhoYouAre = You are { $sender }.
WhereThisIs = This chat has the ID { $chat } in the channel { $channel }.
WhereThisIsNamed = This chat, “{ $name }”, has the ID { $chat } in the channel { $channel }.
ModelUsage = /model says which model answers in this chat. /model NAME switches to another one, /model default back.
ModelChosen = From the next message on, { $name } answers in this chat.
ModelUnknown = There is no model “{ $name }” here.
ModelNone = No model is configured: each message is the call of a tool. See docs/models.md.
ModelFirst = the first model
ModelAsChosen = { $name } answers in this chat, as you chose.
ModelGone = { $first } answers in this chat, because { $gone } is not configured any more.
ModelFixed = { $name } always answers in this chat: my operator has chosen it.
ModelAnswers = { $name } answers in this chat.
ModelNoOther = There is no other model: my operator can list more in models.toml.
ModelSwitch = Switch with /model and one of these names: { $names }.
LanguageAsk = I write English in this chat. Which language shall it be? The model answers in the language in which you write to it.
LanguageList = I write English in this chat. Switch with /language and one of these codes: { $codes }. /language default takes the choice back.
LanguageUnknown = I do not write “{ $code }”.
LanguageChosen = From now on I write English in this chat.
LanguageByDefault = No language is chosen for this chat any more. I write English now.
ContextUsage = /context says whether I read what this group wrote before somebody speaks to me; /context on and /context off change it.
ContextOn = When somebody speaks to me here, the model reads the { $count } newest messages of this group before that. I keep them in memory alone and forget them when I stop. For this, Telegram must show them to me: turn my privacy mode off in BotFather, or make me an administrator. /context off ends it.
ContextOff = I read only what speaks to me here. An administrator can change that with /context on.
ContextGroupsAlone = /context is for groups: here I read everything you write.
ContextAdministratorsAlone = Only an administrator of this group changes what I read here.

## /status

NothingRuns = Nothing runs.
StatusWaitsForWorker = Waits for a free worker.
StatusWaitsBehind = Waits for a free worker, { $before } before you.
StatusWaitsForSender = Waits for the rest of a message.
StatusFetching = Fetching { $name }.
StatusAsked = You are asked: { $question }
NothingWaits = Nothing waits.
MessagesWait =
    { $count ->
        [one] 1 message waits.
       *[other] { $count } messages wait.
    }
StatusParked = Waiting for a decision for { $age }: { $text } (turn { $turns })
StatusRunning = Running for { $age }: { $text } (turn { $turns })
StatusRunningTool = Running for { $age }: { $text } (turn { $turns }, last tool { $tool })
Today =
    Today (UTC): { $tasks } { $tasks ->
        [one] task
       *[other] tasks
    }, { $turns } { $turns ->
        [one] turn
       *[other] turns
    }, { $input } tokens in, { $output } out.
TodayWithCost =
    Today (UTC): { $tasks } { $tasks ->
        [one] task
       *[other] tasks
    }, { $turns } { $turns ->
        [one] turn
       *[other] turns
    }, { $input } tokens in, { $output } out, cost { $cost }.
UsedByChat = Used by this chat: { $parts }.
UsedByUser = Used by you: { $parts }.
UsedTasks = { $used } of { $limit } tasks a day
UsedTurns = { $used } of { $limit } turns a day
UsedTokens = { $used } of { $limit } tokens a day
UsedCommandSeconds = { $used } of { $limit } seconds of commands a day
UsedMoney = { $used } of { $limit } of money a day

## For the owner

ChatBySettings = { $chat }: by the settings
ChatPaired = { $chat }: { $title }, paired
NoChats = No chat may use this bot.
UnpairUsage = /unpair ID takes a pairing back; /chats lists the IDs.
UnpairBySettings = { $chat } is allowed by the settings of the bot, and only there it ends.
UnpairUnknown = No chat with the ID { $chat } was paired.
UnpairDone = { $chat } may not use this bot any more, and what it has asked for is cancelled.
ScheduleOnce = { $at }, in { $chat }: { $text }
ScheduleRepeated = { $at }, then { $every }, in { $chat }: { $text }
NothingScheduled = Nothing is scheduled.
UsageLine =
    { $day } { $chat }: { $tasks } { $tasks ->
        [one] task
       *[other] tasks
    }, { $turns } { $turns ->
        [one] turn
       *[other] turns
    }, { $input } tokens in, { $output } out ({ $model })
UsageLineWithCost =
    { $day } { $chat }: { $tasks } { $tasks ->
        [one] task
       *[other] tasks
    }, { $turns } { $turns ->
        [one] turn
       *[other] turns
    }, { $input } tokens in, { $output } out, cost { $cost } ({ $model })
NoUsage = No model was used in the last 7 days.
HealthUnknown = Nothing is known yet.
ListMore = … and { $count } more: the command line shows all.
PairingsOwnerAlone = Only the owner of this bot decides who may use it.
NoStranger = No stranger waits for an answer.
PairingInTerminal = { $title } (chat { $chat } of { $channel }): supervisor pair { $code }

## Strangers and pairing

StrangerRefused =
    This bot does not work for this chat yet. Its operator can allow it within an hour: supervisor pair { $code }

    The ID of this chat is { $chat }.
StrangerAsks = { $title } wants to use this bot (chat ID { $chat }). Allow it only if you know who that is: they can do what you can do. The code { $code } is good for an hour.
ButtonAllow = Allow
ButtonIgnore = Ignore
StrangerWaits = { $title } wants to use this bot. The buttons come below.
StrangersWait = { $count } chats want to use this bot. The buttons come below.
StrangersBehind = { $count } more wait until you have answered: { $names }.
StrangersBehindAndOthers = { $count } more wait until you have answered: { $names } and others.
StrangersWrote =
    { $count ->
        [one] 1 more stranger
       *[other] { $count } more strangers
    } wrote to this bot. /pairings shows who waits.
CodeTooLate = This code was used, or it has expired.
StrangerAllowed = { $title } (chat ID { $chat }) may use this bot now. /unpair { $chat } takes that back, as does supervisor unpair { $chat } in a terminal.
StrangerIgnored = { $title } (chat ID { $chat }) is ignored. In a terminal, “supervisor pair { $code }” still allows it.
Welcome = You may use this bot now. /help says what it can do.

## Presses of buttons, and what somebody types instead

PressAllowed = Allowed.
PressDenied = Denied.
PressAnswered = Answered.
PressIgnored = Ignored.
PressStopping = Stopping.
PressCancelled = Cancelled.
PressEnded = This has already ended.
PressNothing = This button does nothing any more.
PressNoted = Noted. It takes effect as soon as the tool server answers again.
PressDecidedBefore = This was decided before, or its time is over.
PressNotWaitedFor = This is not waited for any more.
NotAnApprover = Only an approver of this bot decides that.
DecidedBefore = This was decided before, and is being passed on.
StopNotAllowed = Only people this bot works for can stop it.
PairingOwnerDecides = Only the owner of this bot decides that.
UseTheButtons = A call waits for a decision. Use the buttons of its question, or reply to the question with yes or no. /approvals shows it once more.
AnswerNotAllowed = Only people this bot works for can answer it.
NotTheAsker = Only the person who asked for this task, or an approver of this bot, answers.
AnswerNoOption = Please press one of the buttons, or reply with the number of one.
AnswerTooLong = Your answer is too long. Please send a shorter one.
LanguageNotAllowed = Only people this bot works for can choose its language.
ButtonStop = Stop

## Who is obeyed, and what is not run

AdministratorsAlone = In this group I obey its administrators alone.
ListedAlone = In this group I obey only people whom my operator has allowed.
ForwardedCommand = I carry out no forwarded commands. Please write it yourself.
UnknownAdministrators = I could not read who administers this group, so I did nothing. Please send it again in a moment.
SkippedWhileOff =
    { $count ->
        [one] While I was off, 1 message came that I did not run. /retry runs it.
       *[other] While I was off, { $count } messages came that I did not run. /retry runs the newest; repeat it for older ones.
    }
Outage = I cannot store messages at the moment: my database, or the disk that it lies on, takes no changes. Your message is not lost. I continue by myself as soon as there is room.
Unreadable = I cannot read that kind of message. Please write what you need, or send a file.
FileTooLarge = That file is too large: Telegram gives a bot files of at most 20 MiB. Please send a smaller one, send it in parts, or send a link to it.

## Progress

ProgressWorking = Working · { $elapsed } · turn { $turn }
ProgressParked = Waiting for a decision · { $elapsed } · turn { $turn }
ProgressWaitsForModel = Waiting for the model · { $elapsed }
ProgressModelUnreachable = The model at { $address } cannot be reached ({ $cause }). Trying again.
ProgressStopping = Stopping · { $elapsed }
ProgressTokens = { $tokens } tokens
ProgressAdded =
    { $messages } { $messages ->
        [one] message
       *[other] messages
    } added
Seconds = { $seconds } s
MinutesAndSeconds = { $minutes } min { $seconds } s
ProgressWaitsForWorker = Waiting for a worker
ProgressWaitsBehind = Waiting · { $before } before you
ProgressWaitsForSender = Waiting for the rest of your message
ProgressFetching = Fetching { $name }

## Approvals

ApprovalAsks = May I call { $tool } (risk { $risk })?
ApprovalBy = Asked for by { $session }.
ApprovalOnceOnly = It can be allowed for this call alone: not all that it runs can be known before.
ApprovalExtentTask = “{ ButtonOnce }” is for this call. After “{ ButtonTask }” or “{ ButtonChat }”, these run there without a question: { $covers }.
ApprovalExtentChat = “{ ButtonOnce }” is for this call. After “{ ButtonChat }”, these run there without a question: { $covers }.
ApprovalReveal = What is hidden is shown by `supervisor approvals { $id } --reveal`.
ApprovalFile = The whole call of { $tool } that waits for your decision.
ApprovalBeginning = This is only the beginning: the file above has all { $bytes } bytes of the call.
ButtonOnce = Once
ButtonTask = This task
ButtonChat = This chat
ButtonDeny = Deny
ReasonDryRun = a dry run deletes nothing
ReasonDelete = it deletes a file
ReasonScript = it runs a script of a skill
ReasonControlFiles = it may leave files that other programs execute
ReasonSendsData = it sends data to another machine
ReasonNewHost = it asks a host that is not listed in AUTONOUS_FETCH_ALLOWED_HOSTS
ReasonOtherChat = it sends into another chat
ReasonNewContact = this chat has not written to this contact before, at this address
ReasonSeenOutside = it sets a task for later, after its own has read from outside
CoversCalls = calls of `{ $tool }`
CoversCommands = { "" } with commands that begin with { $list }
CoversPaths = { "" } with paths like { $list }
CoversHosts = { "" } with hosts like { $list }
CoversCircumstances = { "" } in the circumstance { $list }
CoversArguments = { "" } with { $list }
CoversDefaultRule = default rule { $number }
CoversBoth = { $first }, and { $last }
CoversAt = { $calls }, at { $hosts } alone
OutcomeDenied = Denied.
OutcomeDeniedBy = Denied by { $by }.
OutcomeDeniedWhy = Denied: { $reason }.
OutcomeDeniedByWhy = Denied by { $by }: { $reason }.
OutcomeOnce = Allowed once.
OutcomeOnceBy = Allowed once by { $by }.
OutcomeTask = Allowed for this task.
OutcomeTaskBy = Allowed for this task by { $by }.
OutcomeChat = Allowed for this chat.
OutcomeChatBy = Allowed for this chat by { $by }.
CoversTask = These now run there without a question, until it ends: { $covers }.
CoversMinutes = These now run there without a question, for { $minutes } min: { $covers }.
CoversHours = These now run there without a question, for { $hours } h: { $covers }.
CoversHoursAndMinutes = These now run there without a question, for { $hours } h { $minutes } min: { $covers }.
OutcomeExpired = Nobody decided in time, so it was not done.
AskReply = Reply with your answer.
AskReplyInstead = Or reply with another answer.
OutcomeAnswered = Answered: { $answer }
OutcomeAnsweredBy = Answered by { $by }: { $answer }
OutcomeNoAnswer = Nobody has answered in time.
OutcomeWithdrawn = Withdrawn.
QuestionComesAgain = This question comes again below.

## Files, schedules and the end of tasks

FileKind =
    { $kind ->
        [photo] photo
        [voice-message] voice message
        [audio] audio
        [video-note] video note
        [video] video
        [animation] animation
        [document] document
       *[other] file
    }
FileFailed = I could not store the { $kind }. { $why }
FileNotYet = I cannot fetch { $name } yet; I keep trying.
FileGivenUp = It could not be fetched. Please send it again.
FileTooManyMegabytes = It has more than { $megabytes } MB.
NotDoneByAccess = Not done, because the bot does not work for this chat any more: “{ $text }”, due on { $due }.
NotDoneByAge = Not done, because nothing ran for more than a day: “{ $text }”, due on { $due }.
EmptyReply = (The answer is empty.)
WholeAnswer = The whole answer; as text it would be { $messages } messages.
CancelledBefore = This was cancelled before anything was done.
CancelledAfter = This was cancelled. Until then it had called tools, all of them: { $calls }.
CancelledAfterLast = This was cancelled. Until then it had called tools, the last { $count } of them: { $calls }.
CallDone = { $tool } (done)
CallFailed = { $tool } (failed)
CallInterrupted = { $tool } (interrupted)
TaskFailed =
    I could not do this: { $error }

    To have it tried again, send /retry.
TaskFailedAfter =
    I could not do this, and tried { $tries } times. The last time: { $error }

    To have it tried again, send /retry.
WorkerExited = The worker exited during the task ({ $status }).
ResultNotStored = The result of the attempt could not be stored.
SupervisorRestarted = The supervisor was restarted during the task.
NodeGone = The machine that ran the task is gone.
NodeAway = The machine with the files of this chat ({ $node }) is not running. Your message waits until it is back.
LimitUsedUpMinutes = The limit of { $limit } is used up. It is free again at 00:00 UTC, in { $minutes } min.
LimitUsedUpHours = The limit of { $limit } is used up. It is free again at 00:00 UTC, in { $hours } h.
LimitKept = Your message is kept and runs then.
LimitSendAgain = Send the message again then, or `supervisor requeue { $task }`.
LimitTasks =
    { $limit ->
        [one] 1 task
       *[other] { $limit } tasks
    } a day for { $of ->
        [chat] this chat
       *[user] you
    }
LimitTurns =
    { $limit ->
        [one] 1 turn
       *[other] { $limit } turns
    } a day for { $of ->
        [chat] this chat
       *[user] you
    }
LimitTokens =
    { $limit } tokens a day for { $of ->
        [chat] this chat
       *[user] you
    }
LimitCommandSeconds =
    { $limit } seconds of commands a day for { $of ->
        [chat] this chat
       *[user] you
    }
LimitMoney =
    { $limit } of money a day for { $of ->
        [chat] this chat
       *[user] you
    }

## Tasks that end without an answer

StoppedAtLimit = I had to stop at the limit of { $limit }.
StoppedStalled = I had to stop: I made the same calls { $rounds } times in a row with the same results.
ToolServerSilent = The tool server did not answer in that time.
DoneSoFar = Done so far:
DoneNothing = Done so far: no tool was called.
EarlierCalls =
    { $count ->
        [one] 1 earlier call
       *[other] { $count } earlier calls
    }
OutcomeUnknown = was running, its outcome is unknown
LastNoted = The last thing I noted: { $note }
NoAnswerYet = Open: there is no final answer to your message yet.
AskAgainTomorrow = Ask again once the limit is free again.
AskAgainSmaller = Ask again with a smaller step, or raise the limit.
AskAgainRephrased = Rephrase the request, or tell me what I am missing.
AskAgainFixed = Ask again once the cause is fixed.
LimitOfTurns = { $turns } turns (AUTONOUS_CONTROL_MAX_TURNS)
LimitOfSeconds = { $seconds } seconds (AUTONOUS_CONTROL_MAX_WALL_TIME_SECONDS)
LimitOfTokens = { $tokens } tokens (AUTONOUS_CONTROL_MAX_TOKENS)
LimitOfDayTurns = turns a day (policy.toml), which is free again at 00:00 UTC
LimitOfDayTokens = tokens a day (policy.toml), which is free again at 00:00 UTC
LimitOfDayMoney = money a day (policy.toml), which is free again at 00:00 UTC
ModelRateLimit = The model provider accepts no more requests right now; try again later
ModelOverloaded = The model provider is overloaded or failing; try again later
ModelRefusesKey = The model provider refuses the key; correct AUTONOUS_MODEL_API_KEY
ModelNoCredit = The model account has no credit left; the operator adds credit or raises the limit at the provider, or sets AUTONOUS_MODEL_API_KEY to the key of another account
ModelRefusesRequest = The model provider refuses the request; check AUTONOUS_MODEL_NAME and AUTONOUS_MODEL_BASE_URL, and set AUTONOUS_MODEL_TOOL_PROTOCOL=json for a model that cannot call functions
ModelContextTooLong = The conversation is too long for the model; ask for a smaller step, or choose a model with a larger window
ModelUnreachable = Cannot reach the model provider, or the connection broke; try again later
ModelServerUnreachable = The model at { $address } cannot be reached ({ $cause })
ModelStalled = The model provider stopped responding; try again later
ModelInvalidReply = The model provider sent something that is not a valid reply
ModelAsksToWait = { $error }; it asks to wait { $seconds } seconds
ModelPaused = { $error } (it failed { $failures } times in a row and is paused for { $seconds } seconds)
WorkerInternal = Internal error in the worker; its log has the cause.
