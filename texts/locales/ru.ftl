### Что говорит сам бот, по-русски.
###
### Тон: кратко и вежливо, на «вы» со строчной буквы; о себе без рода («не удалось», а не «не смог»).
### Инструмент = tool, вызов = call, ход = turn, исполнитель = worker.

## Words that other texts use

Quoted = «{ $text }»
Sentences = { $first } { $second }
TakesNothing = После /{ $command } ничего не пишется.
NothingFollows = После этой команды ничего не пишется.
OwnerAlone = Это может только владелец бота.

## The commands in menus and in /help

SummaryHelp = Кто я и что умею
SummaryStatus = Что выполняется, что ждёт, сколько израсходовано сегодня
SummaryStop = Остановить текущую задачу; с all – все
SummarySameAsStop = То же, что /stop
SummaryNew = Начать новый разговор
SummaryQueue = Сделать что-то после текущей задачи: /queue ТЕКСТ
SummaryRetry = Повторить последнее сообщение, которое не удалось или было пропущено
SummaryUndo = Отменить изменения файлов последней задачи
SummaryFiles = Что лежит в рабочей папке или в её каталоге
SummaryGet = Прислать файл: /get ПУТЬ
SummaryModel = Какая модель отвечает здесь и как её сменить
SummaryLanguage = Язык, на котором я здесь пишу
SummaryContext = Читаю ли я, что группа писала раньше
SummaryApprovals = Вызовы, которые ждут решения, с кнопками
SummaryPairings = Кто хочет пользоваться ботом; для владельца
SummaryChats = Кому можно пользоваться ботом; для владельца
SummaryUnpair = Отозвать доступ: /unpair ID; для владельца
SummarySchedules = Что запланировано во всех чатах; для владельца
SummaryUsage = Расход моделей за 7 дней; для владельца
SummaryHealth = Состояние частей бота; для владельца
SummaryWhoAmI = Ваш ID и ID этого чата
SummarySameAsHelp = То же, что /help

## Answers to commands

WhatIAm = Я Autonous, агент, который выполняет задачи на компьютере. Я читаю, пишу и ищу файлы в своей рабочей папке и запускаю команды в песочнице; остальная часть компьютера мне недоступна. Всё, что я делаю, записывается.
Examples =
    Напишите, что нужно сделать, например:
    • Что лежит в рабочей папке?
    • Напиши скрипт, который переименует все фотографии по дате, и проверь его.
    • Найди все TODO в проекте и отсортируй их по файлам.
ExamplesWithoutModel =
    Модель не настроена, поэтому каждое сообщение – вызов инструмента, например:
    • ls path=.
    • grep pattern=TODO
    • bash cmd="date"
    Чтобы я отвечал, запустите меня с ключом модели, например ANTHROPIC_API_KEY или OPENAI_API_KEY, или с OPENAI_BASE_URL: см. docs/models.md.
ApprovalsInTerminal = `supervisor approvals` показывает вызовы, которые ждут решения; решают `supervisor approve` и `supervisor deny`.
NoApprovals = В этом чате нет вызовов, которые ждут решения.
ApprovalsComeAgain =
    { $count ->
        [one] { $count } вызов ждёт решения; он придёт ещё раз с кнопками.
        [few] { $count } вызова ждут решения; они придут ещё раз с кнопками.
       *[other] { $count } вызовов ждут решения; они придут ещё раз с кнопками.
    }
CancelUsage = /cancel останавливает текущую задачу, а если её нет – отменяет последнее ожидающее сообщение. /cancel all останавливает всё.
CancelStopping = Останавливаю текущую задачу.
CancelStoppedParked = Задача, которая ждала решения, остановлена.
CancelledWaiting =
    { $count ->
        [one] Отменено { $count } ожидающее сообщение: { $texts }.
        [few] Отменены { $count } ожидающих сообщения: { $texts }.
       *[other] Отменено { $count } ожидающих сообщений: { $texts }.
    }
StillWaiting =
    { $count ->
        [one] Ещё ждёт { $count } сообщение: { $texts }. /stop all отменит и его.
        [few] Ещё ждут { $count } сообщения: { $texts }. /stop all отменит и их.
       *[other] Ещё ждут { $count } сообщений: { $texts }. /stop all отменит и их.
    }
NothingToCancel = Отменять нечего.
GetUsage = /get ПУТЬ присылает файл, например /get notes/today.md; /files показывает, какие есть.
NoFiles = Здесь нет файлов.
TextAlone = Этот чат показывает только текст. Файл лежит в рабочей папке; /files его покажет.
NoAnswerFromTools = Сервер инструментов не ответил. Отправьте ещё раз чуть позже.
DatabaseUnavailable = База данных сейчас недоступна. Отправьте ещё раз чуть позже.
NewUsage = /new начинает новый разговор. Отправьте его отдельно, а потом – что нужно сделать.
NewBegun = Начинается новый разговор: что говорилось раньше, я больше не помню. Файлы и записи о сделанном остаются как есть.
QueueUsage = После /queue напишите, что сделать, когда закончится текущая задача.
RetryUsage = /retry повторяет последнее сообщение, которое не удалось или было пропущено.
RetryRunning = Повторяю: { $text }
RetryNothing = Повторять нечего: в этом чате нет неудавшихся и пропущенных сообщений.
UndoUsage = /undo отменяет изменения файлов последней задачи; после него ничего не пишется.
UndoNotEnded = Задача, которая меняла файлы, ещё не закончилась. Дождитесь её или остановите (/stop), затем /undo.
UndoNothing = Отменять нечего: за последнюю неделю задачи этого чата не меняли файлов, кроме как командами.
UndoneBefore = Изменения этой задачи уже отменены.
UndoneBack = Восстановлен: { $path }
UndoneRemoved = Удалён: { $path }
UndoneAsBefore = Как раньше: { $path }
UndoneNothing = Ничего не отменено.
UndoneInPart = Остальное не отменено.
WhoYouAre = Вы – { $sender }.
WhereThisIs = У этого чата ID { $chat } в канале { $channel }.
WhereThisIsNamed = У этого чата («{ $name }») ID { $chat } в канале { $channel }.
ModelUsage = /model показывает, какая модель отвечает в этом чате. /model ИМЯ выбирает другую, /model default возвращает прежнюю.
ModelChosen = Начиная со следующего сообщения в этом чате отвечает { $name }.
ModelUnknown = Модели «{ $name }» здесь нет.
ModelNone = Модель не настроена: каждое сообщение – вызов инструмента. См. docs/models.md.
ModelFirst = первая модель
ModelAsChosen = В этом чате отвечает { $name }, как выбрано.
ModelGone = В этом чате отвечает { $first }, потому что { $gone } больше не настроена.
ModelFixed = В этом чате всегда отвечает { $name }: так решил владелец бота.
ModelAnswers = В этом чате отвечает { $name }.
ModelNoOther = Других моделей нет: мой оператор может добавить их в models.toml.
ModelSwitch = Сменить: /model и одно из этих имён: { $names }.
LanguageAsk = В этом чате я пишу по-русски. Какой язык выбрать? Модель отвечает на том языке, на котором ей пишут.
LanguageList = В этом чате я пишу по-русски. Сменить: /language и один из этих кодов: { $codes }. /language default отменяет выбор.
LanguageUnknown = Язык «{ $code }» мне не знаком.
LanguageChosen = Теперь в этом чате я пишу по-русски.
LanguageByDefault = Для этого чата язык больше не выбран. Сейчас я пишу по-русски.
ContextUsage = /context говорит, читаю ли я, что группа писала до обращения ко мне; /context on и /context off меняют это.
ContextOn = Когда ко мне здесь обращаются, модель читает последние сообщения этой группы: { $count }. Они хранятся только в памяти и забываются при остановке. Для этого Telegram должен показывать их мне: отключите режим приватности в BotFather или сделайте меня администратором. /context off отключает.
ContextOff = Здесь я читаю только то, что обращено ко мне. Администратор может изменить это командой /context on.
ContextGroupsAlone = /context — для групп: здесь я и так читаю всё.
ContextAdministratorsAlone = То, что я здесь читаю, меняет только администратор группы.

## /status

NothingRuns = Ничего не выполняется.
StatusWaitsForWorker = Ждёт свободного исполнителя.
StatusWaitsBehind = Ждёт свободного исполнителя, впереди { $before }.
StatusWaitsForSender = Ждёт остальную часть сообщения.
StatusFetching = Загружаю { $name }.
StatusAsked = Вопрос к вам: { $question }
NothingWaits = Ничего не ждёт.
MessagesWait =
    { $count ->
        [one] Ждёт { $count } сообщение.
        [few] Ждут { $count } сообщения.
       *[other] Ждут { $count } сообщений.
    }
StatusParked = Ждёт решения уже { $age }: { $text } (ход { $turns })
StatusRunning = Выполняется уже { $age }: { $text } (ход { $turns })
StatusRunningTool = Выполняется уже { $age }: { $text } (ход { $turns }, последний инструмент { $tool })
Today =
    Сегодня (UTC): { $tasks } { $tasks ->
        [one] задача
        [few] задачи
       *[other] задач
    }, { $turns } { $turns ->
        [one] ход
        [few] хода
       *[other] ходов
    }, токены: { $input } на входе, { $output } на выходе.
TodayWithCost =
    Сегодня (UTC): { $tasks } { $tasks ->
        [one] задача
        [few] задачи
       *[other] задач
    }, { $turns } { $turns ->
        [one] ход
        [few] хода
       *[other] ходов
    }, токены: { $input } на входе, { $output } на выходе, стоимость { $cost }.
UsedByChat = Израсходовано этим чатом: { $parts }.
UsedByUser = Израсходовано вами: { $parts }.
UsedTasks = задачи: { $used } из { $limit } в день
UsedTurns = ходы: { $used } из { $limit } в день
UsedTokens = токены: { $used } из { $limit } в день
UsedCommandSeconds = секунды команд: { $used } из { $limit } в день
UsedMoney = деньги: { $used } из { $limit } в день

## For the owner

ChatBySettings = { $chat }: по настройкам
ChatPaired = { $chat }: { $title }, доступ выдан
NoChats = Ни одному чату нельзя пользоваться ботом.
UnpairUsage = /unpair ID отзывает доступ; /chats показывает ID.
UnpairBySettings = { $chat } разрешён настройками бота, и отменить это можно только там.
UnpairUnknown = Чату с ID { $chat } доступ не выдавался.
UnpairDone = { $chat } больше не может пользоваться ботом, а его задачи отменены.
ScheduleOnce = { $at }, в { $chat }: { $text }
ScheduleRepeated = { $at }, затем { $every }, в { $chat }: { $text }
NothingScheduled = Ничего не запланировано.
UsageLine =
    { $day } { $chat }: { $tasks } { $tasks ->
        [one] задача
        [few] задачи
       *[other] задач
    }, { $turns } { $turns ->
        [one] ход
        [few] хода
       *[other] ходов
    }, токены: { $input } на входе, { $output } на выходе ({ $model })
UsageLineWithCost =
    { $day } { $chat }: { $tasks } { $tasks ->
        [one] задача
        [few] задачи
       *[other] задач
    }, { $turns } { $turns ->
        [one] ход
        [few] хода
       *[other] ходов
    }, токены: { $input } на входе, { $output } на выходе, стоимость { $cost } ({ $model })
NoUsage = За последние 7 дней модели не использовались.
HealthUnknown = Пока ничего не известно.
ListMore = … и ещё { $count }: все показывает командная строка.
PairingsOwnerAlone = Кому можно пользоваться ботом, решает только владелец.
NoStranger = Никто из незнакомых не ждёт ответа.
PairingInTerminal = { $title } (чат { $chat } в { $channel }): supervisor pair { $code }

## Strangers and pairing

StrangerRefused =
    Этот бот пока не работает для этого чата. Его оператор может разрешить доступ в течение часа: supervisor pair { $code }

    ID этого чата: { $chat }.
StrangerAsks = { $title } хочет пользоваться этим ботом (ID чата { $chat }). Разрешайте, только если знаете, кто это: там можно будет всё то же, что и вам. Код { $code } действует час.
ButtonAllow = Разрешить
ButtonIgnore = Игнорировать
StrangerWaits = { $title } хочет пользоваться этим ботом. Кнопки – ниже.
StrangersWait =
    Этим ботом хотят пользоваться: { $count } { $count ->
        [one] чат
        [few] чата
       *[other] чатов
    }. Кнопки – ниже.
StrangersBehind = Ещё { $count } ждут вашего ответа: { $names }.
StrangersBehindAndOthers = Ещё { $count } ждут вашего ответа: { $names } и другие.
StrangersWrote =
    Этому боту { $count ->
        [one] написал ещё { $count } незнакомец
        [few] написали ещё { $count } незнакомца
       *[other] написали ещё { $count } незнакомцев
    }. /pairings показывает, кто ждёт.
CodeTooLate = Этот код уже использован или истёк.
StrangerAllowed = { $title } (ID чата { $chat }) теперь может пользоваться ботом. /unpair { $chat } это отменит, в терминале – supervisor unpair { $chat }.
StrangerIgnored = { $title } (ID чата { $chat }): запрос проигнорирован. В терминале «supervisor pair { $code }» ещё может разрешить доступ.
Welcome = Теперь ботом можно пользоваться. /help расскажет, что он умеет.

## Presses of buttons, and what somebody types instead

PressAllowed = Разрешено.
PressDenied = Отклонено.
PressAnswered = Ответ принят.
PressIgnored = Проигнорировано.
PressStopping = Останавливаю.
PressCancelled = Отменено.
PressEnded = Это уже закончилось.
PressNothing = Эта кнопка больше не действует.
PressNoted = Принято. Подействует, как только сервер инструментов снова ответит.
PressDecidedBefore = Это уже решено, или время вышло.
PressNotWaitedFor = Этого уже не ждут.
NotAnApprover = Это решает только тот, кто у этого бота одобряет вызовы.
DecidedBefore = Это уже решено и сейчас передаётся.
StopNotAllowed = Остановить могут только те, для кого бот работает.
PairingOwnerDecides = Это решает только владелец бота.
UseTheButtons = Вызов ждёт решения. Нажмите кнопку под вопросом или ответьте на него «да» или «нет». /approvals покажет его ещё раз.
AnswerNotAllowed = Ответить могут только те, для кого бот работает.
NotTheAsker = Отвечает только тот, кто поставил эту задачу, или тот, кто у этого бота одобряет вызовы.
AnswerNoOption = Нажмите одну из кнопок или ответьте номером варианта.
AnswerTooLong = Ответ слишком длинный. Пришлите, пожалуйста, короче.
LanguageNotAllowed = Выбрать язык могут только те, для кого бот работает.
ButtonStop = Стоп

## Who is obeyed, and what is not run

AdministratorsAlone = В этой группе я слушаюсь только администраторов.
ListedAlone = В этой группе я слушаюсь только тех, кого разрешил мой оператор.
ForwardedCommand = Пересланные команды я не выполняю. Напишите её сами.
UnknownAdministrators = Не удалось узнать, кто администрирует группу, поэтому ничего не сделано. Отправьте ещё раз чуть позже.
SkippedWhileOff =
    { $count ->
        [one] Пока бот был выключен, пришло { $count } сообщение, которое не выполнено. /retry выполнит его.
        [few] Пока бот был выключен, пришли { $count } сообщения, которые не выполнены. /retry выполнит последнее; для более старых повторите.
       *[other] Пока бот был выключен, пришло { $count } сообщений, которые не выполнены. /retry выполнит последнее; для более старых повторите.
    }
Outage = Сейчас я не могу сохранять сообщения: база данных или её диск не принимает изменений. Сообщение не потеряно. Как только появится место, работа продолжится сама.
Unreadable = Такие сообщения я читать не умею. Напишите, что нужно, или пришлите файл.
FileTooLarge = Этот файл слишком большой: Telegram отдаёт ботам файлы не больше 20 МиБ. Пришлите файл поменьше, по частям или ссылкой.

## Progress

ProgressWorking = Работаю · { $elapsed } · ход { $turn }
ProgressParked = Жду решения · { $elapsed } · ход { $turn }
ProgressWaitsForModel = Жду модель · { $elapsed }
ProgressModelUnreachable = Модель по адресу { $address } недоступна ({ $cause }). Пробую снова.
ProgressStopping = Останавливаю · { $elapsed }
ProgressTokens = токены: { $tokens }
ProgressAdded =
    { $messages ->
        [one] добавлено { $messages } сообщение
        [few] добавлено { $messages } сообщения
       *[other] добавлено { $messages } сообщений
    }
Seconds = { $seconds } с
MinutesAndSeconds = { $minutes } мин { $seconds } с
ProgressWaitsForWorker = Жду исполнителя
ProgressWaitsBehind = Жду · впереди { $before }
ProgressWaitsForSender = Жду остальную часть сообщения
ProgressFetching = Загружаю { $name }

## Approvals

ApprovalAsks =
    Можно вызвать { $tool } (риск { $risk ->
        [low] низкий
        [medium] средний
        [high] высокий
       *[other] { $risk }
    })?
ApprovalBy = Запрос от { $session }.
ApprovalOnceOnly = Разрешить можно только этот вызов: заранее не известно всё, что он запустит.
ApprovalExtentTask = «{ ButtonOnce }» – только этот вызов. После «{ ButtonTask }» или «{ ButtonChat }» там без вопроса выполняются: { $covers }.
ApprovalExtentChat = «{ ButtonOnce }» – только этот вызов. После «{ ButtonChat }» там без вопроса выполняются: { $covers }.
ApprovalReveal = Скрытое покажет `supervisor approvals { $id } --reveal`.
ApprovalFile = Полный вызов { $tool }, который ждёт решения.
ApprovalBeginning = Это только начало: в файле выше – весь вызов, байтов: { $bytes }.
ButtonOnce = Один раз
ButtonTask = Эта задача
ButtonChat = Этот чат
ButtonDeny = Запретить
ReasonDryRun = пробный запуск ничего не удаляет
ReasonDelete = вызов удаляет файл
ReasonScript = вызов запускает скрипт навыка
ReasonControlFiles = могут остаться файлы, которые выполняют другие программы
ReasonSendsData = вызов отправляет данные на другую машину
ReasonNewHost = вызов обращается к узлу, которого нет в AUTONOUS_FETCH_ALLOWED_HOSTS
ReasonOtherChat = вызов пишет в другой чат
ReasonNewContact = этот чат ещё не писал этому контакту по этому адресу
ReasonSeenOutside = вызов планирует задачу на потом, после того как его задача читала что-то извне
CoversCalls = вызовы `{ $tool }`
CoversCommands = { "" } с командами, которые начинаются с { $list }
CoversPaths = { "" } с путями вида { $list }
CoversHosts = { "" } с узлами вида { $list }
CoversCircumstances = { "" } при обстоятельстве { $list }
CoversArguments = { "" } с { $list }
CoversDefaultRule = стандартное правило { $number }
CoversBoth = { $first }, и { $last }
CoversAt = { $calls }, только с { $hosts }
OutcomeDenied = Отклонено.
OutcomeDeniedBy = Отклонено: { $by }.
OutcomeDeniedWhy = Отклонено, причина: { $reason }.
OutcomeDeniedByWhy = Отклонено ({ $by }), причина: { $reason }.
OutcomeOnce = Разрешено один раз.
OutcomeOnceBy = Разрешено один раз: { $by }.
OutcomeTask = Разрешено для этой задачи.
OutcomeTaskBy = Разрешено для этой задачи: { $by }.
OutcomeChat = Разрешено для этого чата.
OutcomeChatBy = Разрешено для этого чата: { $by }.
CoversTask = До её конца там без вопроса выполняются: { $covers }.
CoversMinutes = В течение { $minutes } мин там без вопроса выполняются: { $covers }.
CoversHours = В течение { $hours } ч там без вопроса выполняются: { $covers }.
CoversHoursAndMinutes = В течение { $hours } ч { $minutes } мин там без вопроса выполняются: { $covers }.
OutcomeExpired = Никто не решил вовремя, поэтому ничего не сделано.
AskReply = Ответьте на это сообщение.
AskReplyInstead = Или ответьте по-своему.
OutcomeAnswered = Ответ: { $answer }
OutcomeAnsweredBy = Ответ от { $by }: { $answer }
OutcomeNoAnswer = Вовремя никто не ответил.
OutcomeWithdrawn = Вопрос снят.
QuestionComesAgain = Этот вопрос ещё раз задан ниже.

## Files, schedules and the end of tasks

FileKind =
    { $kind ->
        [photo] фото
        [voice-message] голосовое сообщение
        [audio] аудио
        [video-note] видеосообщение
        [video] видео
        [animation] анимацию
        [document] документ
       *[other] файл
    }
FileFailed = Не удалось сохранить { $kind }. { $why }
FileNotYet = { $name } пока не загружается; попытки продолжаются.
FileGivenUp = Загрузить не получилось. Отправьте ещё раз.
FileTooManyMegabytes = Размер больше { $megabytes } МБ.
NotDoneByAccess = Не сделано, потому что бот больше не работает для этого чата: «{ $text }», срок { $due }.
NotDoneByAge = Не сделано, потому что бот не работал больше суток: «{ $text }», срок { $due }.
EmptyReply = (Ответ пуст.)
WholeAnswer = Ответ целиком; текстом он занял бы сообщений: { $messages }.
CancelledBefore = Отменено, прежде чем что-либо было сделано.
CancelledAfter = Отменено. До этого вызывались инструменты, вот все: { $calls }.
CancelledAfterLast = Отменено. До этого вызывались инструменты, вот последние { $count }: { $calls }.
CallDone = { $tool } (сделано)
CallFailed = { $tool } (ошибка)
CallInterrupted = { $tool } (прервано)
TaskFailed =
    Не удалось выполнить: { $error }

    Чтобы попробовать ещё раз, отправьте /retry.
TaskFailedAfter =
    Не удалось выполнить, попыток: { $tries }. Последняя ошибка: { $error }

    Чтобы попробовать ещё раз, отправьте /retry.
WorkerExited = Исполнитель завершился во время задачи ({ $status }).
ResultNotStored = Не удалось сохранить результат попытки.
SupervisorRestarted = Супервизор был перезапущен во время задачи.
NodeGone = Машина, на которой выполнялась задача, не отвечает.
NodeAway = Машина с файлами этого чата ({ $node }) не работает. Ваше сообщение ждёт, пока она вернётся.
LimitUsedUpMinutes = Лимит исчерпан: { $limit }. Он обновится в 00:00 UTC, через { $minutes } мин.
LimitUsedUpHours = Лимит исчерпан: { $limit }. Он обновится в 00:00 UTC, через { $hours } ч.
LimitKept = Сообщение сохранено и будет выполнено тогда.
LimitSendAgain = Отправьте сообщение тогда ещё раз, или `supervisor requeue { $task }`.
LimitTasks =
    задач в день – { $limit }, { $of ->
        [chat] для этого чата
       *[user] для вас
    }
LimitTurns =
    ходов в день – { $limit }, { $of ->
        [chat] для этого чата
       *[user] для вас
    }
LimitTokens =
    токенов в день – { $limit }, { $of ->
        [chat] для этого чата
       *[user] для вас
    }
LimitCommandSeconds =
    секунд на команды в день – { $limit }, { $of ->
        [chat] для этого чата
       *[user] для вас
    }
LimitMoney =
    денег в день – { $limit }, { $of ->
        [chat] для этого чата
       *[user] для вас
    }

## Tasks that end without an answer

StoppedAtLimit = Работа остановлена, достигнут лимит: { $limit }.
StoppedStalled = Работа остановлена: одни и те же вызовы { $rounds } раза подряд дали те же результаты.
ToolServerSilent = Сервер инструментов за это время не ответил.
DoneSoFar = Сделано:
DoneNothing = Сделано: инструменты не вызывались.
EarlierCalls =
    { $count ->
        [one] ещё { $count } вызов раньше
        [few] ещё { $count } вызова раньше
       *[other] ещё { $count } вызовов раньше
    }
OutcomeUnknown = выполнялся, результат неизвестен
LastNoted = Последняя запись: { $note }
NoAnswerYet = Открыто: окончательного ответа пока нет.
AskAgainTomorrow = Спросите ещё раз, когда лимит обновится.
AskAgainSmaller = Спросите ещё раз, меньшим шагом, или увеличьте лимит.
AskAgainRephrased = Сформулируйте иначе или подскажите, чего не хватает.
AskAgainFixed = Спросите ещё раз, когда причина будет устранена.
LimitOfTurns = ходов – { $turns } (AUTONOUS_CONTROL_MAX_TURNS)
LimitOfSeconds = секунд – { $seconds } (AUTONOUS_CONTROL_MAX_WALL_TIME_SECONDS)
LimitOfTokens = токенов – { $tokens } (AUTONOUS_CONTROL_MAX_TOKENS)
LimitOfDayTurns = ходов в день (policy.toml), обновится в 00:00 UTC
LimitOfDayTokens = токенов в день (policy.toml), обновится в 00:00 UTC
LimitOfDayMoney = денег в день (policy.toml), обновится в 00:00 UTC
ModelRateLimit = Поставщик модели сейчас не принимает запросов; попробуйте позже
ModelOverloaded = Поставщик модели перегружен или работает со сбоями; попробуйте позже
ModelRefusesKey = Поставщик модели отклоняет ключ; исправьте AUTONOUS_MODEL_API_KEY
ModelNoCredit = На счёте модели закончились средства; оператор пополняет счёт или повышает лимит у поставщика либо указывает в AUTONOUS_MODEL_API_KEY ключ другого счёта
ModelRefusesRequest = Поставщик модели отклоняет запрос; проверьте AUTONOUS_MODEL_NAME и AUTONOUS_MODEL_BASE_URL, а для модели без вызова функций задайте AUTONOUS_MODEL_TOOL_PROTOCOL=json
ModelContextTooLong = Разговор слишком длинный для модели; попросите меньший шаг или выберите модель с большим окном
ModelUnreachable = Поставщик модели недоступен, или соединение прервалось; попробуйте позже
ModelServerUnreachable = Модель по адресу { $address } недоступна ({ $cause })
ModelStalled = Поставщик модели перестал отвечать; попробуйте позже
ModelInvalidReply = Поставщик модели прислал недопустимый ответ
ModelAsksToWait = { $error }; просит подождать { $seconds } с
ModelPaused = { $error } (сбоев подряд: { $failures }, пауза { $seconds } с)
WorkerInternal = Внутренняя ошибка исполнителя; причина – в его журнале.
